package mapping

import (
	"context"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// createProduct handles POST /products, also below a store view or a category, both of
// which it ignores (products 1).
func (s *Service) createProduct(ctx context.Context, c *Call) (*Reply, error) {
	w, err := s.products.writes.newWrite(ctx, &c.Body, nil)
	if err != nil {
		return nil, err
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	key, err := s.products.store.Create(ctx, &adapter.CreateParams{Record: w.newRecord()})
	if err != nil {
		return nil, w.translateError(err)
	}
	return createdReply("/products/", key), nil
}

// updateProduct handles PUT /products/:id, with or without a store view. It looks up the
// product before it checks the fields, so that a call for an unknown product reveals
// nothing about them (products 1).
func (s *Service) updateProduct(ctx context.Context, c *Call) (*Reply, error) {
	product, view, err := s.findProduct(ctx, c, productAttributes{stored: []string{"type_id", "url_key"}})
	if err != nil {
		return nil, err
	}
	w, err := s.products.writes.newWrite(ctx, &c.Body, &product)
	if err != nil {
		return nil, err
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	if w.sendsUnusableURLKey() && s.dialect.URLKeyByWebsite {
		if w.hasNoWebsite, err = s.hasNoWebsite(ctx, product); err != nil {
			return nil, err
		}
	}
	var with []string
	if w.changesStock() {
		with = append(with, "stock_item")
	}
	err = s.products.store.Update(ctx, &adapter.UpdateParams{
		Key:     product.Key(),
		StoreID: view.id,
		With:    with,
		Change: func(current adapter.Record) (adapter.Record, error) {
			return w.changes(current, view.id), nil
		},
	})
	if err != nil {
		return nil, w.translateError(err)
	}
	return &Reply{}, nil
}

// hasNoWebsite reports whether a product is assigned to no website.
func (s *Service) hasNoWebsite(ctx context.Context, product adapter.Record) (bool, error) {
	wanted := productWebsiteList(product.Get("entity_id").Int())
	wanted.Query.Limit = 1
	found, err := s.productWebsites.all(ctx, &wanted)
	return len(found) == 0, err
}

// deleteProduct handles DELETE /products/:id. With a store view in the path it still
// deletes the whole product, provided the view's website sells it (products 1).
func (s *Service) deleteProduct(ctx context.Context, c *Call) (*Reply, error) {
	product, _, err := s.findProduct(ctx, c, productAttributes{})
	if err != nil {
		return nil, err
	}
	if err := s.products.store.Delete(ctx, &adapter.DeleteParams{Key: product.Key()}); err != nil {
		return nil, err
	}
	return &Reply{}, nil
}

// ProductSettings are the shop's own values that products may refer to.
type ProductSettings struct {
	// AttributeSets and TaxClasses are the ids that products may have, in decimal.
	AttributeSets, TaxClasses []string
	// Themes are the design themes that products may have, as package/theme.
	Themes []string
}

// productWrites is shared by all writes of products.
type productWrites struct {
	*resource
	types                 []contract.ProductType
	rules                 []productRule
	groupPrice, tierPrice priceList
	stock                 productStock
	urlKeys               urlKeyGenerator
	settings              Settings
	groups, countries     source
}

// A productRule is the rule of a field, with its attribute and that one's position in the
// schema.
type productRule struct {
	contract.ProductRule
	attributeIndex int
	attribute      *adapter.Attribute
}

func newProductWrites(products *resource, stock *stockRules, groups, countries source, settings Settings) *productWrites {
	w := &productWrites{
		resource: products,
		types:    contract.ProductTypes(),
		stock:    newProductStock(stock),
		urlKeys:  urlKeyGenerator{transliterations()},
		settings: settings,
		groups:   groups, countries: countries,
	}
	for _, rule := range contract.ProductRules() {
		w.addRule(rule)
	}
	for _, field := range products.addedFields() {
		w.addRule(contract.AddedProductRule(field, addedAttributeCheck(products.schema.Attributes[products.attribute(field)].Kind)))
	}
	w.groupPrice = w.newPriceList("group_price", contract.GroupPriceRules(), contract.GroupPriceTwice)
	w.tierPrice = w.newPriceList("tier_price", contract.TierPriceRules(), contract.TierPriceTwice)
	return w
}

func (p *productWrites) addRule(rule contract.ProductRule) {
	at := p.attribute(rule.Field)
	p.rules = append(p.rules, productRule{rule, at, &p.schema.Attributes[at]})
}

// addedAttributeCheck returns the check for an attribute that the shop has added.
func addedAttributeCheck(kind adapter.Kind) contract.ProductCheck {
	switch kind {
	case adapter.KindInteger, adapter.KindDecimal:
		return contract.AnyNumber
	case adapter.KindTime:
		return contract.DateTime
	default:
		return contract.AnyText
	}
}

// A productWrite is one write of a product: the body, and the data it is checked against.
type productWrite struct {
	*productWrites
	body        codec.Node
	current     *adapter.Record       // nil for a new product
	productType *contract.ProductType // nil for a type unknown to the original
	groups      map[int64]bool        // the existing customer groups
	// countryCodes holds the country codes in the body that exist.
	countryCodes map[string]bool
	// hasNoWebsite reports whether the product is in no website, as every new one is.
	hasNoWebsite bool
	now          time.Time
	faults       contract.Faults
}

// newWrite loads the data that the body refers to. current is the product at the scope
// that is written, with at least its type and url_key; nil for a new product.
func (p *productWrites) newWrite(ctx context.Context, body *codec.Node, current *adapter.Record) (*productWrite, error) {
	w := &productWrite{productWrites: p, body: *body, current: current, now: p.settings.Now(), hasNoWebsite: current == nil}
	// The value is ignored, even if it is invalid (products 5.6).
	if isFlagSet(&w.body, "use_config_gift_message_available") {
		w.body.Members = slices.DeleteFunc(slices.Clone(body.Members), func(m codec.Member) bool { return m.Key == "gift_message_available" })
	}
	if current != nil {
		w.productType = p.findType(current.Get("type_id").Text())
	} else if sent, ok := w.sentValue("type_id"); ok {
		w.productType = p.findType(sent.String())
	}
	if w.entries("group_price") != nil || w.entries("tier_price") != nil {
		groups, err := p.groups.all(ctx, &adapter.ListParams{})
		if err != nil {
			return nil, err
		}
		w.groups = make(map[int64]bool, len(groups))
		for _, g := range groups {
			w.groups[g.Get(g.Schema.Key).Int()] = true
		}
	}
	if sent, ok := w.sentValue("country_of_manufacture"); ok {
		var wanted []adapter.Condition
		if sent.Kind != codec.Struct {
			wanted = append(wanted, textEquals("country_id", sent.String()))
		}
		found, err := p.countries.all(ctx, &adapter.ListParams{Query: adapter.Query{Where: wanted}})
		if err != nil {
			return nil, err
		}
		w.countryCodes = make(map[string]bool, len(found))
		for _, r := range found {
			w.countryCodes[r.Get("country_id").Text()] = true
		}
	}
	return w, nil
}

func (p *productWrites) findType(code string) *contract.ProductType {
	if i := slices.IndexFunc(p.types, func(t contract.ProductType) bool { return t.Code == code }); i >= 0 {
		return &p.types[i]
	}
	return nil
}

// sentValue returns the value of a field. ok is false if it is absent or null.
func (w *productWrite) sentValue(field string) (n *codec.Node, ok bool) {
	return presentMember(&w.body, field)
}

// translateError returns the fault that the client sees for an error of the store.
func (w *productWrite) translateError(err error) error {
	if isStoreError(err, adapter.Conflict, "sku") {
		return w.dialect.Fault(contract.SKUTaken)
	}
	return err
}
