package resource

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
)

// CountryCodes returns the codes of the countries in a directory that n may stand for.
func CountryCodes(ctx context.Context, countries Source, n *codec.Node) ([]string, error) {
	var wanted []adapter.Condition
	if n.Kind != codec.Struct {
		wanted = append(wanted, TextEquals("country_id", n.String()))
	}
	found, err := countries.All(ctx, &adapter.ListParams{Query: adapter.Query{Where: wanted}})
	codes := make([]string, len(found))
	for i, country := range found {
		codes[i] = country.Get("country_id").Text()
	}
	return codes, err
}
