package handlers

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A productReply renders the products of one reply, with the fields that need more than
// the product's own attributes (products 3.4).
type productReply struct {
	resource.Resource // a copy for this call
	of                *Products
	c                 *resource.Call
	replyShape
	// needed names the attributes that the fields are made of.
	needed attributes

	needsBuyer, needsStock, needsGallery, needsSite bool
	// storedTiers: tier_price is shown as it is stored. storedPrices: tier_price or group_price is, with the prices
	// of all buyers.
	storedTiers, storedPrices bool

	buyer *buyer
	shop  *resource.Shop
	site  *resource.PriceSite      // whose entries of price lists an Admin reads
	stock map[int64]adapter.Record // by product
	// view is the scope at which the products are read; gallery holds the first images of a
	// single product there.
	view    resource.StoreView
	gallery []adapter.Record
}

// A replyShape is the kind of a reply that shows products.
type replyShape struct {
	inList      bool
	countsStock bool // is_saleable depends on the stock
}

// newProductReply returns a reply for the given fields, and determines which data they
// need.
func (products *Products) newProductReply(c *resource.Call, r *resource.Resource, fields []int, shape replyShape) *productReply {
	p := &productReply{Resource: *r, of: products, c: c, replyShape: shape}
	p.Compute = p.computedField
	view := c.Route.View(c.Format)
	for _, at := range fields {
		field := &r.Fields.Fields[at]
		switch {
		case field.Absent(products.Dialect, c.Principal.Role, view):
			continue
		case field.Attribute != "":
			p.needed.Stored = append(p.needed.Stored, field.Attribute)
			continue
		}
		if field.FixedTax {
			p.needsSite = true
			p.needed.Stored = append(p.needed.Stored, field.Name)
		}
		switch field.Name {
		case "group_price":
			p.needOnDemand("group_price")
			p.needsSite, p.storedPrices = true, true
			p.needed.Stored = append(p.needed.Stored, "type_id")
		case "tier_price":
			p.needOnDemand("tier_price")
			p.storedTiers = field.AsStored(products.Dialect, c.Principal.Role)
			p.needsBuyer, p.needsSite = p.needsBuyer || !p.storedTiers, true
			p.storedPrices = p.storedPrices || p.storedTiers
			p.needed.Stored = append(p.needed.Stored, "type_id")
		case "stock_data":
			p.needsStock = true
		case "is_in_stock":
			p.needOnDemand("stock_is_in_stock", "stock_manage_stock", "stock_use_config_manage_stock")
		case "is_saleable":
			p.needed.Stored = append(p.needed.Stored, "type_id")
			if shape.countsStock {
				p.needOnDemand("stock_is_in_stock", "stock_manage_stock", "stock_use_config_manage_stock")
				p.needed.Stored = append(p.needed.Stored, "stock_status")
			}
		case "regular_price_with_tax", "regular_price_without_tax":
			p.needsBuyer = true
			p.needed.Stored = append(p.needed.Stored, regularPriceValues()...)
		case "final_price_with_tax", "final_price_without_tax":
			p.needOnDemand(finalPriceLists()...)
			p.needsBuyer = true
			p.needed.Stored = append(p.needed.Stored, finalPriceValues()...)
		case "total_reviews_count":
			p.needed.Stored = append(p.needed.Stored, "reviews_count")
		case "has_custom_options":
			p.needed.Stored = append(p.needed.Stored, "has_custom_options")
		case "image_url":
			p.needOnDemand("image_file")
		case "media_gallery":
			p.needsGallery = true
		case "url":
			p.needed.Stored = append(p.needed.Stored, "default_url_key")
			if products.Dialect.RewrittenURLs {
				p.needed.Stored = append(p.needed.Stored, "request_path")
				p.needsSite = true
			}
		}
	}
	if p.needsBuyer {
		p.needed.Stored = append(p.needed.Stored, "tax_class_id")
	}
	return p
}

// needOnDemand adds attributes on demand to the needed ones.
func (p *productReply) needOnDemand(attributes ...string) {
	for _, name := range attributes {
		if !slices.Contains(p.needed.OnDemand, name) {
			p.needed.OnDemand = append(p.needed.OnDemand, name)
		}
	}
}

func (p *productReply) isPublic() bool { return p.c.Principal.Role != contract.Admin }

// stockItemsPerQuery is the number of stock items that one query reads.
const stockItemsPerQuery = 100

// load reads the data that the fields of products need besides the products. A reply calls
// it once for each batch; the buyer stays the same for all batches.
func (p *productReply) load(ctx context.Context, products []adapter.Record) error {
	if p.needsBuyer && len(products) > 0 {
		if err := p.findBuyer(ctx); err != nil {
			return err
		}
	}
	if p.needsSite {
		shop, err := p.of.finder.Shops.Current(ctx)
		if err != nil {
			return err
		}
		p.shop, p.site = shop, &shop.PriceScope(p.view).PriceSite
	}
	if p.needsGallery {
		for _, product := range products {
			images := imageList(product, p.view.Id)
			images.Query.Limit = p.c.Limits.Batch
			var err error
			if p.gallery, err = p.of.images.All(ctx, &images); err != nil {
				return err
			}
		}
	}
	if !p.needsStock {
		return nil
	}
	p.stock = make(map[int64]adapter.Record, len(products))
	for batch := range slices.Chunk(products, stockItemsPerQuery) {
		ids := make([]string, len(batch))
		for i, r := range batch {
			ids[i] = r.Get("entity_id").Text()
		}
		items, err := p.of.stockData.All(ctx, &adapter.ListParams{Query: adapter.Query{
			Where: []adapter.Condition{resource.NewCondition("product_id", adapter.In, ids...)},
		}})
		if err != nil {
			return err
		}
		for _, item := range items {
			p.stock[item.Get("product_id").Int()] = item
		}
	}
	return nil
}

// computedField returns the value of a field that no single attribute holds.
func (p *productReply) computedField(_ *resource.Call, field *contract.Field, product adapter.Record) (codec.Node, bool) {
	if field.FixedTax {
		return p.fixedTaxes(product.Get(field.Name), field.ByWebsite)
	}
	switch field.Name {
	case "group_price":
		return p.groupPrices(product), true
	case "tier_price":
		if p.storedTiers {
			return p.tierPrices(product), true
		}
		return p.buyer.TierPrices(product, p.of.pricing(product), p.Dialect.StoredPriceForm), true
	case "stock_data":
		return p.stockData(product)
	case "is_in_stock":
		return p.inStock(product), true
	case "is_saleable":
		return p.saleable(product), true
	case "regular_price_with_tax":
		return p.shownPrice(product, false, true), true
	case "regular_price_without_tax":
		return p.shownPrice(product, false, false), true
	case "final_price_with_tax":
		return p.shownPrice(product, true, true), true
	case "final_price_without_tax":
		return p.shownPrice(product, true, false), true
	case "media_gallery":
		return p.mediaGallery(), true
	case "image_url":
		return codec.TextNode(imageURL(p.c, p.of.links, product)), true
	case "url":
		return codec.TextNode(p.pageURL(product)), true
	case "buy_now_url":
		return codec.TextNode(p.buyNowURL(product)), true
	case "total_reviews_count":
		return codec.TextNode(strconv.FormatInt(product.Get("reviews_count").Int(), 10)), true
	case "has_custom_options":
		return boolNode(product.Get("has_custom_options").Int() != 0), true
	default:
		return codec.Node{}, false
	}
}

// findBuyer determines the buyer for whom the reply shows prices, unless the buyer is known
// already.
func (p *productReply) findBuyer(ctx context.Context) (err error) {
	if p.buyer == nil {
		p.buyer, err = p.of.buyers.Find(ctx, p.c, p.view)
		if err == nil {
			p.c.Expiry = &p.buyer.Expiry
		}
	}
	return err
}

// needBuyersPrices leaves out the prices for other buyers, unless the reply shows them. The group of a Customer is
// read after a single product, whose prices are then read whole.
func (p *productReply) needBuyersPrices(ctx context.Context) error {
	if !p.needsBuyer || p.storedPrices || p.c.Principal.Role == contract.Customer && p.buyer == nil {
		return nil
	}
	err := p.findBuyer(ctx)
	if err == nil && p.buyer.WebsiteID != 0 { // in the default scope prices of all websites show
		p.needed.Buyer = &adapter.Buyer{Group: p.buyer.group, WebsiteID: p.buyer.WebsiteID}
	}
	return err
}

func boolNode(is bool) codec.Node {
	if is {
		return codec.Node{Kind: codec.True}
	}
	return codec.Node{Kind: codec.False}
}

// inStockIfUnmanaged is the stock status of a product that is in stock only where stock is not
// managed by default.
const inStockIfUnmanaged = 2

func flagNode(is bool) codec.Node {
	if is {
		return codec.TextNode("1")
	}
	return codec.TextNode("0")
}

// saleable renders whether the product can be bought. Lists decide it by its type alone, unless they
// count stock. A single record has it from the stock status at its website, of which there is none in
// the default scope, or else from the stock item.
func (p *productReply) saleable(product adapter.Record) codec.Node {
	kind := p.of.typeOf(product)
	switch status := product.Get("stock_status"); {
	case !p.countsStock:
		return boolNode(!kind.Composite)
	case kind.NeverSaleable:
		return boolNode(false)
	case p.view.Id == 0:
		return codec.Node{}
	case status.Int() == inStockIfUnmanaged:
		return flagNode(!p.of.manageStock)
	case !status.Empty():
		return codec.TextNode(status.Text())
	default:
		inStock := p.inStock(product)
		return codec.TextNode(inStock.String())
	}
}

// groupPrices renders an Admin's group_price in its stored order.
func (p *productReply) groupPrices(product adapter.Record) codec.Node {
	var entries []codec.Node
	for _, price := range pricesAt(p.site, product.Get("group_price").Records(), p.of.pricing(product)) {
		entry := codec.RecordNode(price.members(p.Dialect)...)
		if p.Dialect.PercentFlags {
			entry.Members = append(entry.Members, codec.Member{Key: "is_percent", Value: codec.Node{Kind: codec.True}})
		}
		entries = append(entries, entry)
	}
	return codec.ListNode(entries)
}

// tierPrices renders the stored tier_price by ascending quantity. The group that stands
// for all groups is a number. Only Customers and Guests see all columns (openmage 2).
func (p *productReply) tierPrices(product adapter.Record) codec.Node {
	tiers := pricesAt(p.site, product.Get("tier_price").Records(), p.of.pricing(product))
	slices.SortStableFunc(tiers, func(a, b listedPrice) int { return compareMoney(a.Record, b.Record, "price_qty") })
	var entries []codec.Node
	for _, price := range tiers {
		members, ofAll := append(price.members(p.Dialect), textMember(price.Record, "price_qty")), int64(0)
		if price.Get("cust_group").Int() == adapter.AllGroupsID {
			members[1].Value.Kind, ofAll = codec.Number, 1
		}
		if p.isPublic() {
			members = slices.Insert(members, 1, codec.Member{Key: "all_groups", Value: resource.IntegerNode(p.Dialect, ofAll)})
			members = slices.Insert(members, 0, codec.Member{Key: "price_id", Value: resource.IntegerNode(p.Dialect, int64(price.Key()))})
			members = append(members, codec.Member{Key: "website_price", Value: price.node(p.Dialect.StoredPriceForm)})
		}
		entry := codec.RecordNode(members...)
		if p.Dialect.PercentFlags {
			entry.Members = append(entry.Members, codec.Member{Key: "is_percent", Value: codec.NumberNode("0")})
		}
		entries = append(entries, entry)
	}
	return codec.ListNode(entries)
}

func textMember(r adapter.Record, name string) codec.Member {
	return codec.Member{Key: name, Value: codec.TextNode(r.Get(name).Text())}
}

// stockData renders the stock item in an Admin's product.
func (p *productReply) stockData(product adapter.Record) (codec.Node, bool) {
	item, ok := p.stock[product.Get("entity_id").Int()]
	if !ok {
		return codec.Node{}, false
	}
	r := &p.of.stockData
	fields, _ := r.ListReader(p.c.Principal.Role).Select(contract.SingleJSON, &codec.Node{})
	return r.Render(p.c, item, fields), true
}

// inStock returns the stored flag. A product whose stock is not managed is in stock.
func (p *productReply) inStock(product adapter.Record) codec.Node {
	stored := product.Get("stock_is_in_stock")
	if stored.Empty() {
		return codec.TextNode("0")
	}
	managed := product.Get("stock_manage_stock").Int() != 0
	if product.Get("stock_use_config_manage_stock").Int() != 0 {
		managed = p.of.manageStock
	}
	switch {
	case managed:
		return codec.TextNode(stored.Text())
	case p.Dialect.UnmanagedTrue:
		return codec.Node{Kind: codec.True}
	default:
		return codec.TextNode("1")
	}
}

// mediaGallery renders the images as in their own calls. The list of values is always
// empty.
func (p *productReply) mediaGallery() codec.Node {
	r := &p.of.images
	fields, _ := r.ListReader(p.c.Principal.Role).Select(contract.SingleJSON, &codec.Node{})
	images := make([]codec.Node, len(p.gallery))
	for i, image := range p.gallery {
		images[i] = r.Render(p.c, image, fields)
	}
	return codec.RecordNode(codec.Member{Key: "images", Value: codec.ListNode(images)}, codec.Member{Key: "values", Value: codec.ListNode(nil)})
}

// pageURL returns the address of the product's page in the shop.
func (p *productReply) pageURL(product adapter.Record) string {
	if path := product.Get("request_path").Text(); path != "" && p.Dialect.RewrittenURLs {
		return p.of.links.Rewritten(p.c, path, p.shop, p.view)
	}
	return p.of.links.Page(p.c, productPagePath(product))
}

// productPagePath returns the path of the product's page in the shop.
func productPagePath(product adapter.Record) string {
	path := "/catalog/product/view/id/" + product.Get("entity_id").Text() + "/"
	if key := product.Get("default_url_key").Text(); key != "" {
		path += "s/" + key + "/"
	}
	return path
}

// base64PathReplacer makes base64 suitable for a path segment, as the original does.
var base64PathReplacer = strings.NewReplacer("+", "-", "/", "_", "=", ",")

// buyNowURL returns the link that adds the product to the cart and redirects back to this
// request. Its form key differs from call to call.
func (p *productReply) buyNowURL(product adapter.Record) string {
	p.c.FormKey = resource.NewFormKey()
	back := base64.StdEncoding.EncodeToString([]byte(p.of.links.Base(p.c) + resource.CalledURI(p.c.HTTP)))
	return p.of.links.Page(p.c, "/checkout/cart/add/uenc/"+base64PathReplacer.Replace(back)+
		"/product/"+strconv.FormatInt(product.Get("entity_id").Int(), 10)+"/form_key/"+p.c.FormKey+"/")
}
