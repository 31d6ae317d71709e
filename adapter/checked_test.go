package adapter_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// A fixedAdapter has one store, and that has one record.
type fixedAdapter struct {
	adapter.Adapter
	store fixedStore
}

func (a fixedAdapter) Store(adapter.Resource) (adapter.Store, error) { return a.store, nil }

type fixedStore struct {
	adapter.Store
	record adapter.Record
}

func (s fixedStore) Get(context.Context, *adapter.GetParams) (adapter.Record, error) {
	return s.record, nil
}

func (s fixedStore) List(context.Context, *adapter.ListParams) (*adapter.ListResult, error) {
	return &adapter.ListResult{Records: []adapter.Record{s.record, s.record}}, nil
}

func (s fixedStore) Update(_ context.Context, p *adapter.UpdateParams) error {
	_, err := p.RunChange(s.record)
	return err
}

// TestCheckedPing checks that a panic of Ping is an error.
func TestCheckedPing(t *testing.T) {
	var none fixedAdapter // its Ping has no receiver
	if err := adapter.Checked(none, slog.New(slog.DiscardHandler)).Ping(t.Context()); adapter.KindOf(err) != adapter.Internal || !strings.Contains(err.Error(), "panic: ") {
		t.Errorf("error %v", err)
	}
}

// TestChecked checks that the values of an adapter become canonical, with one warning for each
// attribute, and that others are refused by the name of their attribute.
func TestChecked(t *testing.T) {
	schemas := adapter.NewSchemas()
	item := func(name string, v adapter.Value) adapter.Record {
		r := adapter.NewRecord(schemas.Of(adapter.StockItems))
		r.Set(name, v)
		return r
	}
	product := adapter.NewRecord(schemas.Of(adapter.Products))
	product.Set("stock_item", adapter.RecordsValue([]adapter.Record{item("qty", adapter.TextValue("5"))}))
	for _, tt := range []struct {
		name    string
		record  adapter.Record
		want    string // the value, or the error
		warning string
	}{
		{"canonical", item("qty", adapter.TextValue("5.0000")), "5.0000", ""},
		{"decimal", item("qty", adapter.TextValue("5")), "5.0000", "attribute=qty"},
		{"no decimal", item("qty", adapter.TextValue("many")), "(qty): must be a decimal", ""},
		{"number as text", item("product_id", adapter.TextValue("5")), "(product_id): the value is not of the attribute's kind", ""},
		{"date", item("low_stock_date", adapter.TextValue("2026-01-02")), "(low_stock_date): must be a time", ""},
		{"record in a record", product, "5.0000", "resource=stock_items attribute=qty"},
		{"no schema", adapter.Record{}, "make it by NewRecord", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			a := adapter.Checked(fixedAdapter{store: fixedStore{record: tt.record}}, slog.New(slog.NewTextHandler(&log, nil)))
			s, err := a.Store(adapter.StockItems)
			if err != nil {
				t.Fatal(err)
			}
			var seen adapter.Record
			read, getErr := s.Get(t.Context(), &adapter.GetParams{})
			list, listErr := s.List(t.Context(), &adapter.ListParams{})
			updateErr := s.Update(t.Context(), &adapter.UpdateParams{Change: func(current adapter.Record) (adapter.Record, error) {
				seen = current
				return current, nil
			}})
			for _, err := range []error{getErr, listErr, updateErr} {
				if err != nil && (!strings.Contains(err.Error(), tt.want) || adapter.KindOf(err) != adapter.Internal) {
					t.Errorf("%v, want %s", err, tt.want)
				}
			}
			if (getErr == nil) != (listErr == nil) || (getErr == nil) != (updateErr == nil) || (getErr == nil) != (tt.want == "5.0000") {
				t.Fatalf("errors %v, %v and %v", getErr, listErr, updateErr)
			}
			if getErr == nil {
				for _, r := range []adapter.Record{read, list.Records[1], seen} {
					if nested := r.Get("stock_item").Records(); len(nested) > 0 {
						r = nested[0]
					}
					if got := r.Get("qty").Text(); got != tt.want {
						t.Errorf("got %s", got)
					}
				}
			}
			if n := strings.Count(log.String(), "level=WARN"); !strings.Contains(log.String(), tt.warning) || (n == 1) != (tt.warning != "") {
				t.Errorf("%d warnings: %s", n, &log)
			}
		})
	}
}
