package handlers

import (
	"encoding/json"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/resource"
)

// fixedTaxes renders the fixed product taxes of a product (configurations 9), which its attribute holds
// as [adapter.FixedTax] in JSON. byWebsite: a store view also shows those of its website, and the default
// scope those of all.
// The field is missing from products whose attribute set lacks it, which have no list, and from those whose
// list is broken.
func (p *productReply) fixedTaxes(stored adapter.Value, byWebsite bool) (codec.Node, bool) {
	var taxes []adapter.FixedTax
	if text := stored.Text(); text == "" || json.Unmarshal([]byte(text), &taxes) != nil {
		return codec.Node{}, false
	}
	var rows []codec.Node
	for _, tax := range taxes {
		here := tax.Website == 0 || byWebsite && (p.site.WebsiteID == 0 || tax.Website == p.site.WebsiteID)
		if !here {
			continue
		}
		value := resource.ParseMoney(adapter.TextValue(tax.Value))
		if byWebsite && tax.Website == 0 {
			value *= p.site.Rate
		}
		rows = append(rows, codec.RecordNode(
			codec.Member{Key: "website_id", Value: resource.IntegerNode(p.Dialect, tax.Website)},
			codec.Member{Key: "country", Value: codec.TextNode(tax.Country)},
			codec.Member{Key: "state", Value: codec.TextNode(tax.State)},
			codec.Member{Key: "value", Value: codec.TextNode(tax.Value)},
			codec.Member{Key: "website_value", Value: doubleNode(value)},
		))
	}
	return codec.ListNode(rows), true
}
