package handlers

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// ProductSettings are the shop's own values that products may refer to.
type ProductSettings struct {
	// AttributeSets and TaxClasses are the ids that products may have, in decimal.
	AttributeSets, TaxClasses []string
	// Themes are the design themes that products may have, as package/theme.
	Themes []string
	// SingleStoreMode: while the shop has exactly one store view, every write of a product is one of
	// the default scope (configurations 7).
	SingleStoreMode bool
}

// ProductWrites is shared by all writes of products.
type ProductWrites struct {
	*resource.Resource
	parser            *input.Parser
	types             []contract.ProductType
	priceLists        []*input.Rule
	stock             productStock
	urlKeys           urlKeys
	settings          ProductSettings
	prices            resource.PriceSettings
	clock             func() time.Time // the current time
	finder            *ProductFinder
	groups, countries resource.Source
	websites          resource.Source // the assignments of products
}

// NewProductWrites returns the handler that writes products. stock are the rules of stock
// items, and now returns the current time.
func NewProductWrites(d *contract.Dialect, fields *contract.Fields, backend *resource.Backend, finder *ProductFinder, stock *stockRules, settings ProductSettings, prices resource.PriceSettings, now func() time.Time) (*ProductWrites, error) {
	products, err := resource.NewResource(d, fields.AdminProducts, backend, adapter.Products)
	if err != nil {
		return nil, err
	}
	w := &ProductWrites{
		Resource: &products,
		types:    contract.ProductTypes(),
		urlKeys:  newURLKeys(d),
		settings: settings,
		prices:   prices,
		clock:    now,
		finder:   finder,
	}
	w.parser = input.NewParser(d, fields.AdminProducts, products.Schema, w.codes, products.Locale)
	w.priceLists = []*input.Rule{w.parser.Rule("group_price"), w.parser.Rule("tier_price")}
	w.stock = newProductStock(stock, w.parser.Rule(stockDataName))
	for name, into := range map[adapter.Resource]*resource.Source{adapter.CustomerGroups: &w.groups, adapter.Countries: &w.countries, adapter.ProductWebsites: &w.websites} {
		if *into, err = backend.Source(name); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// codes returns the codes that the rules of products take from the shop.
func (p *ProductWrites) codes(ctx context.Context, rule *contract.Rule, n *codec.Node) ([]string, error) {
	switch rule.From {
	case contract.TaxClasses:
		return p.settings.TaxClasses, nil
	case contract.Themes:
		return p.settings.Themes, nil
	case contract.Websites:
		return p.priceWebsites(ctx)
	case contract.Countries:
		return resource.CountryCodes(ctx, p.Dialect, p.countries, n)
	case contract.AttributeOptions:
		return p.finder.Shops.OptionCodes(ctx, adapter.Products, rule.Field, n)
	}
	found, err := p.groups.All(ctx, &adapter.ListParams{})
	all := make([]string, len(found))
	for i, g := range found {
		all[i] = g.Get(g.Schema.Key).Text()
	}
	return all, err
}

// priceWebsites returns the ids that entries of price lists may have: 0 for all websites and, if
// prices differ between websites, those of the websites.
func (p *ProductWrites) priceWebsites(ctx context.Context) ([]string, error) {
	if !p.prices.ByWebsite {
		return []string{"0"}, nil
	}
	shop, err := p.finder.Shops.Current(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(shop.Websites))
	for i, id := range shop.Websites {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return ids, nil
}

// A write is one write of a product: the body, and the data it is checked against.
type write struct {
	*ProductWrites
	input.Body
	current *adapter.Record // nil for a new product
	// hasNoWebsite reports whether the product is in no website, as every new one is.
	hasNoWebsite bool
	now          time.Time
}

// newWrite returns the write of a body. current is the product at the scope that is
// written, with at least its type and url_key; nil for a new product.
func (p *ProductWrites) newWrite(body *codec.Node, current *adapter.Record) *write {
	w := &write{ProductWrites: p, Body: input.Body{Parser: p.parser, Node: body, New: current == nil}, current: current, now: p.clock(), hasNoWebsite: current == nil}
	// The value is ignored, even if it is invalid (products 5.6).
	if input.IsSet(body, "use_config_gift_message_available") {
		without := *body
		without.Members = slices.DeleteFunc(slices.Clone(body.Members), func(m codec.Member) bool { return m.Key == "gift_message_available" })
		w.Node = &without
	}
	if current != nil {
		w.Type = p.findType(current.Get("type_id").Text())
	} else if sent, ok := w.Sent("type_id"); ok {
		w.Type = p.findType(sent.String())
	}
	return w
}

func (p *ProductWrites) findType(code string) *contract.ProductType {
	if i := slices.IndexFunc(p.types, func(t contract.ProductType) bool { return t.Code == code }); i >= 0 {
		return &p.types[i]
	}
	return nil
}
