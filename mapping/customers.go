package mapping

import (
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// customers is the resource behind /customers.
type customers struct{ resource }

func newCustomers(d *contract.Dialect, upstream adapter.Adapter, schemas *adapter.Schemas) (*customers, error) {
	bound, err := newResource(d, contract.CustomerFields(), upstream, schemas, adapter.Customers)
	if err != nil {
		return nil, err
	}
	return &customers{bound}, nil
}

// getCustomer handles GET /customers/:id. A Customer must give the own id in
// exactly its digits; an Admin's may be anything that begins with the number
// (customers 1, "Ids in the path").
func (s *Service) getCustomer(ctx context.Context, c *Call) (*Reply, error) {
	id, own := c.Param("id"), ownerID(c.Principal)
	if own != 0 && id != strconv.FormatInt(own, 10) {
		return nil, s.dialect.Fault(contract.NotFound)
	}
	key, err := s.key(id)
	if err != nil {
		return nil, err
	}
	rec, err := s.customers.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: own})
	if err != nil {
		return nil, err
	}
	return s.customers.one(c, rec)
}

// listCustomers handles GET /customers. Where a Customer is let in, the list
// holds the own record alone.
func (s *Service) listCustomers(ctx context.Context, c *Call) (*Reply, error) {
	return s.customers.list(ctx, c, keyedByID, ownerID(c.Principal), s.settings.MaxRows)
}
