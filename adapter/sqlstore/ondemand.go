package sqlstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
)

// getOnDemand returns one record with the on-demand attributes that p names, and with the
// values at its store view. It reads the record as a list of one, since List knows how to
// join them.
func (s *store) getOnDemand(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	key := adapter.Test{Attribute: s.table.schema.Key, Op: adapter.Eq, Operands: []string{strconv.FormatInt(int64(p.Key), 10)}}
	found, err := s.List(ctx, &adapter.ListParams{
		Query:   adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{key}}}},
		OwnerID: p.OwnerID,
		StoreID: p.StoreID,
		With:    p.With,
	})
	if err != nil {
		return adapter.Record{}, err
	}
	if len(found.Records) == 0 {
		return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("get %s %d", s.table.schema.Resource, p.Key)}
	}
	return found.Records[0], nil
}
