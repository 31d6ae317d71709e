package mapping

import (
	"context"
	"math"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// A storeView is the level at which a call reads a product: a store view, or the
// default scope.
type storeView struct {
	id int64 // 0: the default scope
	// websiteID is the website a product must be assigned to; 0 for the default
	// scope, which has no such rule.
	websiteID int64
}

const (
	// defaultStoreView is what customers and guests read who name none
	// (product_parts 2.2, products 3.6).
	defaultStoreView = "1"
	// Names of the default scope, which is no record.
	defaultScope     = "0"
	defaultScopeCode = "admin"
)

// storeView returns the store view c names in its path, or else in its query
// (wire 2); without one it is the default scope for Admin and the default store
// view for everybody else. To these 0 is no store view, while its code admin
// gives them the default scope (product_parts 2.2).
func (s *Service) storeView(ctx context.Context, c *Call) (storeView, error) {
	name, err := s.storeName(c)
	switch {
	case err != nil:
		return storeView{}, err
	case name == defaultScopeCode:
		return storeView{}, nil
	case name != "" && name != defaultScope:
		return s.storeViewCalled(ctx, name)
	case c.Principal.Role == contract.Admin:
		return storeView{}, nil
	default:
		return s.storeViewCalled(ctx, defaultStoreView)
	}
}

// storeName returns the name of a store view as sent, "" if there is none.
func (s *Service) storeName(c *Call) (string, error) {
	if at, ok := c.Route.Param("store"); ok {
		return c.Params[at], nil
	}
	sent, ok := c.Query.Get("store")
	switch {
	case !ok:
		return "", nil
	case sent.Kind != codec.Text:
		return "", s.dialect.Fault(contract.StoreMisspelt)
	default:
		return sent.Text, nil
	}
}

// storeViewCalled finds a store view by its plain number or its code. What is
// another spelling of an existing one is told from what names none (wire 2).
func (s *Service) storeViewCalled(ctx context.Context, name string) (storeView, error) {
	if id, ok := plainNumber(name); ok {
		view, err := s.stores.store.Get(ctx, &adapter.GetParams{Key: id})
		switch {
		case err == nil:
			return viewOf(view), nil
		case adapter.KindOf(err) == adapter.NotFound:
			return storeView{}, s.dialect.Fault(contract.StoreInvalid)
		default:
			return storeView{}, err
		}
	}
	spelt := adapter.Condition{Any: []adapter.Test{{Attribute: "code", Op: adapter.Eq, Operands: []string{name}}}}
	number, isNumber := numeric.Parse(name)
	if isNumber && number == math.Trunc(number) && math.Abs(number) < math.MaxInt64 {
		id := strconv.FormatInt(int64(number), 10)
		spelt.Any = append(spelt.Any, adapter.Test{Attribute: "store_id", Op: adapter.Eq, Operands: []string{id}})
	}
	found, err := s.stores.all(ctx, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{spelt}}})
	if err != nil {
		return storeView{}, err
	}
	for _, view := range found {
		if view.Get("code").Text() == name {
			return viewOf(view), nil
		}
	}
	if len(found) > 0 || isNumber && number == 0 || adapter.Fold(name) == adapter.Fold(defaultScopeCode) {
		return storeView{}, s.dialect.Fault(contract.StoreMisspelt)
	}
	return storeView{}, s.dialect.Fault(contract.StoreInvalid)
}

func viewOf(view adapter.Record) storeView {
	return storeView{id: view.Get("store_id").Int(), websiteID: view.Get("website_id").Int()}
}

// plainNumber reads a positive number written as digits without zeros in front.
func plainNumber(s string) (adapter.Key, bool) {
	id, err := strconv.ParseInt(s, 10, 64)
	return adapter.Key(id), err == nil && id > 0 && s[0] >= '1' && s[0] <= '9'
}
