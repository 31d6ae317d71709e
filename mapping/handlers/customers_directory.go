package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A countryDirectory holds the countries and regions that addresses may name.
type countryDirectory struct{ countries, regions resource.Source }

func newCountryDirectory(backend *resource.Backend) (d countryDirectory, err error) {
	if d.countries, err = backend.Source(adapter.Countries); err != nil {
		return d, err
	}
	d.regions, err = backend.Source(adapter.Regions)
	return d, err
}

// A region holds the values that an address stores about its region. The zero region changes
// nothing.
type region struct{ name, id adapter.Value }

// readRegion returns the region that was sent for an address in a country, or its fault
// (customers 6); n is nil if none was sent. A region of the directory is stored by its
// name. In a country without regions in the directory, any text is a valid region.
func (d countryDirectory) readRegion(ctx context.Context, country string, n *codec.Node) (r region, fault contract.FaultKey, err error) {
	switch {
	case n == nil:
	case n.Kind == codec.Struct && len(n.Members) > 0:
		return r, contract.RegionList, nil
	case n.Kind == codec.True, n.Kind == codec.Number && input.Truthy(n):
		return r, contract.RegionNoText, nil
	}
	all, err := d.regions.All(ctx, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{resource.TextEquals("country_id", country)}}})
	if err != nil {
		return r, 0, err
	}
	if len(all) == 0 {
		return freeTextRegion(n)
	}
	switch {
	case n == nil:
		return r, contract.RegionRequired, nil
	case n.Kind == codec.Number:
		return r, contract.RegionZero, nil
	case n.Kind == codec.Text && n.Text == "0":
		return r, contract.RegionZeroText, nil
	case input.IsMissing(n):
		return r, contract.RegionEmpty, nil
	}
	wanted := adapter.Fold(n.Text)
	for _, one := range all {
		if adapter.Fold(one.Get("code").Text()) == wanted || adapter.Fold(one.Get("name").Text()) == wanted {
			return region{name: one.Get("name"), id: one.Get("region_id")}, 0, nil
		}
	}
	return r, contract.RegionUnknown, nil
}

// freeTextRegion reads the region for a country that has none in the directory.
func freeTextRegion(n *codec.Node) (r region, fault contract.FaultKey, err error) {
	switch {
	case n == nil:
		return region{id: adapter.UnsetValue()}, 0, nil
	case n.Kind == codec.Number:
		return r, contract.RegionNoText, nil
	case n.Kind != codec.Text:
		return r, contract.RegionType, nil
	default:
		return region{name: input.Line(n, contract.MaxTextLength, 0), id: adapter.UnsetValue()}, 0, nil
	}
}
