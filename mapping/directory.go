package mapping

import (
	"context"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A countryDirectory holds the countries and regions that addresses may name.
type countryDirectory struct{ countries, regions source }

func newCountryDirectory(backend *invalidatingAdapter, schemas *adapter.Schemas) (d countryDirectory, err error) {
	if d.countries, err = newSource(backend, schemas, adapter.Countries); err != nil {
		return d, err
	}
	d.regions, err = newSource(backend, schemas, adapter.Regions)
	return d, err
}

// The allowed lengths of a country code (contract 9).
const (
	minCountryCode = 2
	maxCountryCode = 3
)

// checkCountry returns the fault of a country value that is present, or 0 if it is valid
// (customers 6).
func (d countryDirectory) checkCountry(ctx context.Context, n *codec.Node) (contract.FaultKey, error) {
	switch n.Kind {
	case codec.Struct:
		return contract.CountryType, nil
	case codec.Text:
	default:
		return contract.CountryNoText, nil
	}
	if length := utf8.RuneCountInString(n.Text); length < minCountryCode || length > maxCountryCode {
		return contract.CountryLength, nil
	}
	found, err := d.countries.all(ctx, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{textEquals("country_id", n.Text)}}})
	if err != nil {
		return 0, err
	}
	for _, country := range found {
		if country.Get("country_id").Text() == n.Text { // The comparison is case-sensitive.
			return 0, nil
		}
	}
	return contract.CountryUnknown, nil
}

// A region is what an address stores about its region. The zero region changes nothing.
type region struct{ name, id adapter.Value }

// readRegion returns the region that was sent for an address in a country, or its fault
// (customers 6); n is nil if none was sent. A region of the directory is stored by its
// name. In a country without regions in the directory, any text is a valid region.
func (d countryDirectory) readRegion(ctx context.Context, country string, n *codec.Node) (r region, fault contract.FaultKey, err error) {
	switch {
	case n == nil:
	case n.Kind == codec.Struct && len(n.Members) > 0:
		return r, contract.RegionList, nil
	case n.Kind == codec.True, n.Kind == codec.Number && truthy(n):
		return r, contract.RegionNoText, nil
	}
	all, err := d.regions.all(ctx, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{textEquals("country_id", country)}}})
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
	case isMissing(n):
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
		return region{name: optionalText(n), id: adapter.UnsetValue()}, 0, nil
	}
}
