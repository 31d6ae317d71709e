package mapping

import (
	"context"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// createProduct handles POST /products and its other forms: a store view or
// category in the path means nothing to it (products 1).
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

// updateProduct handles PUT /products/:id, with or without a store view. The
// product is found before the fields are checked, so that of an unknown one
// nobody learns what is wrong with them (products 1).
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
		Key:     keyOf(product),
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

// inNoWebsite reports whether a product is assigned to none.
func (s *Service) hasNoWebsite(ctx context.Context, product adapter.Record) (bool, error) {
	wanted := productWebsiteList(product.Get("entity_id").Int())
	wanted.Query.Limit = 1
	found, err := s.productWebsites.all(ctx, &wanted)
	return len(found) == 0, err
}

// deleteProduct handles DELETE /products/:id. With a store view in the path the
// whole product goes, too, if the store view's website has it (products 1).
func (s *Service) deleteProduct(ctx context.Context, c *Call) (*Reply, error) {
	product, _, err := s.findProduct(ctx, c, productAttributes{})
	if err != nil {
		return nil, err
	}
	if err := s.products.store.Delete(ctx, &adapter.DeleteParams{Key: keyOf(product)}); err != nil {
		return nil, err
	}
	return &Reply{}, nil
}

func keyOf(r adapter.Record) adapter.Key { return adapter.Key(r.Get(r.Schema.Key).Int()) }

// ProductSettings are what the store has set up that products refer to.
type ProductSettings struct {
	// AttributeSets and TaxClasses are the ids that products may have, in decimal.
	AttributeSets, TaxClasses []string
	// Themes are the designs a product may have, as package/theme.
	Themes []string
}

// productWrites is what all writes of products share.
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

// A productRule is a rule of a field and where its value is stored.
type productRule struct {
	contract.ProductRule
	attributeIndex int
	attribute      *adapter.Attribute
}

// newProductWrites returns the writes of products, which refer to groups and
// countries.
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

// checkOf returns what a value of the store's own attributes has to be.
func addedAttributeCheck(kind adapter.Kind) contract.ProductCheck {
	switch kind {
	case adapter.KindInteger, adapter.KindDecimal:
		return contract.AnyNumber
	case adapter.KindTime:
		return contract.Moment
	default:
		return contract.AnyText
	}
}

// A productWrite is one write of a product: what the body asks for, and what
// it is checked against.
type productWrite struct {
	*productWrites
	body        codec.Node
	current     *adapter.Record       // nil: the product is created
	productType *contract.ProductType // nil: none the original knows
	groups      map[int64]bool        // the customer groups there are
	// countryCodes are those that exist of what the body names.
	countryCodes map[string]bool
	// inNoWebsite: the product is in none, as a new one always is.
	hasNoWebsite bool
	now          time.Time
	faults       contract.Faults
}

// begin reads what the body refers to. current is the product as it stands at
// the scope written to, its type and url_key at least, nil for a new one.
func (p *productWrites) newWrite(ctx context.Context, body *codec.Node, current *adapter.Record) (*productWrite, error) {
	w := &productWrite{productWrites: p, body: *body, current: current, now: p.settings.Now(), hasNoWebsite: current == nil}
	// Ignored whatever it is (products 5.6).
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

// sent returns the value of a field; ok is false when it is absent or null.
func (w *productWrite) sentValue(field string) (n *codec.Node, ok bool) {
	return presentMember(&w.body, field)
}

// refusal returns what the caller is told of an error of the store.
func (w *productWrite) translateError(err error) error {
	if isStoreError(err, adapter.Conflict, "sku") {
		return w.dialect.Fault(contract.SKUTaken)
	}
	return err
}
