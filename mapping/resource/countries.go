package resource

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// CountryCodes returns the codes of the countries in a directory that n may stand for, and that dialect d
// accepts.
func CountryCodes(ctx context.Context, d *contract.Dialect, countries Source, n *codec.Node) ([]string, error) {
	var wanted []adapter.Condition
	if n.Kind != codec.Struct {
		wanted = append(wanted, TextEquals("country_id", n.String()))
	}
	found, err := countries.All(ctx, &adapter.ListParams{Query: adapter.Query{Where: wanted}})
	codes := make([]string, 0, len(found))
	for _, country := range found {
		if code := country.Get("country_id").Text(); d.HasCountry(code) {
			codes = append(codes, code)
		}
	}
	return codes, err
}
