package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A priceList is an attribute that lists prices of a product, and the table that stores
// them.
type priceList struct{ attribute, table string }

func priceLists() []priceList {
	return []priceList{{"group_price", "product_group_price"}, {"tier_price", "product_tier_price"}}
}

var errSamePrice = errors.New("two prices have the same website, group and quantity")

// A price is a stored entry of a price list.
type price struct {
	id     int64
	amount string
}

// setPrices replaces a price list. Entries that exist already keep their ids, and so
// their order (products 5.6).
func (s *productTx) setPrices(ctx context.Context, op string, product adapter.Key, list priceList, v adapter.Value) error {
	if v.Kind() != adapter.Records && v.Kind() != adapter.Null {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: list.attribute, Err: errKind}
	}
	had, err := s.storedPrices(ctx, product, list)
	if err != nil {
		return err
	}
	type entry struct {
		columns   []string
		arguments []any
	}
	kept, added := map[string]bool{}, []entry{}
	for _, r := range v.Records() {
		place, err := s.priceIdentity(r)
		if err == nil && kept[place] {
			err = errSamePrice
		}
		if err != nil {
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: list.attribute, Err: err}
		}
		kept[place] = true
		e := entry{columns: []string{"product_id"}, arguments: []any{int64(product)}}
		for i, a := range r.Schema.Attributes {
			if a.Name == r.Schema.Key {
				continue
			}
			argument, err := s.db.engine.bind(&a, r.Values[i])
			if err != nil {
				return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: list.attribute, Err: fmt.Errorf("%s: %w", a.Name, err)}
			}
			e.columns, e.arguments = append(e.columns, a.Name), append(e.arguments, argument)
		}
		was, there := had[place]
		switch amount := r.Get("price"); {
		case !there:
			added = append(added, e)
		case was.amount != amount.Text():
			argument, _ := s.db.engine.bind(&adapter.Attribute{Kind: adapter.KindDecimal}, amount)
			if err := s.exec(ctx, "UPDATE "+list.table+" SET price = ? WHERE value_id = ?", argument, was.id); err != nil {
				return err
			}
		}
	}
	for place, was := range had {
		if !kept[place] {
			if err := s.exec(ctx, "DELETE FROM "+list.table+" WHERE value_id = ?", was.id); err != nil {
				return err
			}
		}
	}
	for _, e := range added {
		if _, err := s.db.insert(ctx, s.tx, list.table, "value_id", 0, e.columns, e.arguments); err != nil {
			return err
		}
	}
	return nil
}

// storedPrices returns the entries of a list by their identities.
func (s *productTx) storedPrices(ctx context.Context, product adapter.Key, list priceList) (map[string]price, error) {
	at, _ := s.products.table.schema.Index(list.attribute)
	records := []adapter.Record{adapter.NewRecord(s.products.table.schema)}
	records[0].Set(s.products.table.schema.Key, adapter.IntegerValue(int64(product)))
	wanted := requestedParts{groupPrices: at == s.products.groupPrice, tierPrices: at == s.products.tierPrice}
	if err := s.products.addParts(ctx, s.query, records, wanted, &adapter.ListParams{}); err != nil {
		return nil, err
	}
	had := map[string]price{}
	for _, r := range records[0].Values[at].Records() {
		place, err := s.priceIdentity(r)
		if err != nil {
			return nil, err
		}
		had[place] = price{id: r.Get(r.Schema.Key).Int(), amount: r.Get("price").Text()}
	}
	return had, nil
}

// priceIdentity returns a text of everything but the price that distinguishes an entry
// from the others of its list.
func (s *productTx) priceIdentity(r adapter.Record) (string, error) {
	var b strings.Builder
	for i, a := range r.Schema.Attributes {
		if a.Name == r.Schema.Key || a.Name == "price" {
			continue
		}
		argument, err := s.db.engine.bind(&a, r.Values[i])
		if err != nil {
			return "", fmt.Errorf("%s: %w", a.Name, err)
		}
		fmt.Fprintf(&b, "%v ", argument)
	}
	return b.String(), nil
}
