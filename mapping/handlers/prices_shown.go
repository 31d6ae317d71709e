package handlers

import (
	"context"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// shownPrice renders one of the four prices that a Customer or a Guest reads of a product
// (configurations 3.3).
func (p *productReply) shownPrice(product adapter.Record, final, withTax bool) codec.Node {
	class, pricing := product.Get("tax_class_id").Int(), p.of.pricing(product)
	if p.inList && !hasOwnPrice(product, pricing) {
		class = product.Get("parts_tax_class_id").Int() // as in the original's index of prices
	}
	if p.Dialect.StoredPriceForm && p.buyer.Taxes.KeepsPrice(class) {
		return p.storedPrice(product, pricing, final)
	}
	price := regularPrice(product, pricing, p.inList)
	if final {
		price = p.buyer.FinalPrice(product, pricing, p.inList)
	}
	if withTax {
		return centsNode(p.buyer.Taxes.WithTax(price, class))
	}
	return centsNode(p.buyer.Taxes.WithoutTax(price, class))
}

// needPartsTaxClass adds to the needed attributes the one that decides, in lists of shops whose prices
// include tax, how the prices of products without a price of their own show.
func (p *productReply) needPartsTaxClass(ctx context.Context, view resource.StoreView) error {
	shop, err := p.of.finder.Shops.Current(ctx)
	if err == nil && p.isPublic() && p.needsBuyer && shop.PriceScope(view).PricesIncludeTax() {
		p.needed.Stored = append(p.needed.Stored, "parts_tax_class_id")
	}
	return err
}

// storedPrice renders a price to which the original applies no taxes: neither rounded nor, except for
// the final price of a single record, as a number.
func (p *productReply) storedPrice(product adapter.Record, pricing contract.Pricing, final bool) codec.Node {
	switch {
	case pricing == contract.PricedByParts && final:
		return codec.NumberNode("0")
	case pricing == contract.PricedByParts:
		return codec.Node{}
	case final:
		price := p.buyer.FinalPrice(product, pricing, p.inList)
		if p.inList {
			return fourPlacesNode(price.FourPlaces())
		}
		return doubleNode(price)
	case !hasOwnPrice(product, pricing):
		return codec.NumberNode("0")
	case pricing == contract.PricedAsBundle && p.inList:
		return fourPlacesNode(0)
	case product.Get("price").Empty():
		return codec.Node{}
	default:
		return codec.TextNode(product.Get("price").Text())
	}
}

// centsNode returns cents as a number in its shortest form: 43.29, 119.5, 99.
func centsNode(cents uint64) codec.Node {
	text := strconv.FormatUint(cents/100, 10)
	if part := cents % 100; part != 0 {
		text += strings.TrimRight("."+strconv.FormatUint(part/10, 10)+strconv.FormatUint(part%10, 10), "0")
	}
	return codec.NumberNode(text)
}

// fourPlacesNode returns an amount in the form of stored amounts: a text with four places.
func fourPlacesNode(m resource.Money) codec.Node {
	return codec.TextNode(strconv.FormatFloat(float64(m), 'f', 4, 64))
}

// doubleNode returns an amount as a number, in the shortest form from which it can be read again.
func doubleNode(m resource.Money) codec.Node {
	return codec.NumberNode(strconv.FormatFloat(float64(m), 'f', -1, 64))
}
