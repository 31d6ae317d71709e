package handlers

import (
	"cmp"
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A formParser parses the body of a write of a customer or an address (customers 4 to 6).
type formParser struct {
	*resource.Resource
	*input.Parser
	directory countryDirectory
}

// newFormParser returns a parser for a resource, whose options are websites, customer groups and
// options of attributes of the shop, and countries of the directory.
func newFormParser(r *resource.Resource, shops *resource.ShopCache, directory countryDirectory) formParser {
	codes := func(ctx context.Context, rule *contract.Rule, n *codec.Node) ([]string, error) {
		switch rule.From {
		case contract.Countries:
			return resource.CountryCodes(ctx, r.Dialect, directory.countries, n)
		case contract.AttributeOptions:
			return shops.OptionCodes(ctx, r.Schema.Resource, rule.Field, n)
		}
		shop, err := shops.Current(ctx)
		if err != nil {
			return nil, err
		}
		ids := shop.Groups
		if rule.From == contract.Websites {
			ids = shop.Websites
		}
		all := make([]string, len(ids))
		for i, id := range ids {
			all[i] = strconv.FormatInt(id, 10)
		}
		return all, nil
	}
	return formParser{Resource: r, Parser: input.NewParser(r.Dialect, r.Fields, r.Schema, codes, r.Locale), directory: directory}
}

// A parsedForm is a valid body of a write.
type parsedForm struct {
	// change holds the values of the attributes: null for an empty text, unset for a
	// value to be removed.
	change adapter.Record
	// password is the password that was sent, trimmed, or "" for none.
	password string
	// hasChanges reports whether the body names a field that can change.
	hasChanges bool
	// saveFault is the fault of a value on which the original fails only when it saves,
	// or 0.
	saveFault contract.FaultKey
}

// parse parses the body of c, which creates or changes a record. storedCountry is the
// country of the address that is being changed, "" for none. The error holds all faults of
// the body, or comes from a store.
func (f *formParser) parse(ctx context.Context, c *resource.Call, storedCountry string) (*parsedForm, error) {
	creates := c.Method == contract.POST
	body := input.Body{Parser: f.Parser, Node: &c.Body, New: creates, Skips: func(rule *input.Rule) bool {
		at, _ := f.Fields.Index(rule.Field)
		return !f.Fields.Fields[at].Offered(f.Dialect, c.Principal.Role) || rule.CreateOnly && !creates
	}}
	if err := body.Check(ctx); err != nil {
		return nil, err
	}
	at, err := f.findRegion(ctx, &body, storedCountry)
	if err != nil {
		return nil, err
	}
	if err := body.Err(); err != nil {
		return nil, err
	}
	parsed := &parsedForm{change: body.Change(), password: body.Password, hasChanges: body.HasChanges || at != nil, saveFault: body.SaveFault}
	if at != nil {
		parsed.change.Set("region", at.name)
		parsed.change.Set("region_id", at.id)
	}
	if creates {
		input.DropUnset(parsed.change)
	}
	return parsed, nil
}

// findRegion returns the region of an address that is new, or that is sent with its country,
// its region or both. It is nil for any other body, and for one with a fault.
func (f *formParser) findRegion(ctx context.Context, body *input.Body, storedCountry string) (*region, error) {
	rule := f.Rule("region")
	if rule == nil || body.Skips(rule) || len(body.Faults) > 0 {
		return nil, nil
	}
	n, sent := body.Get(rule.Field)
	country := body.Country()
	if !body.New && !sent && country == "" {
		return nil, nil
	}
	found, fault, err := f.directory.readRegion(ctx, cmp.Or(country, storedCountry), n)
	if fault != 0 {
		body.Report(&rule.Rule, fault, n)
	}
	return &found, err
}
