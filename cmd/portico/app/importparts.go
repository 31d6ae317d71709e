package app

import (
	"slices"

	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/passthrough"
)

// Arguments of "portico import" that are not kinds of records.
const (
	allParts        = "all"
	attributesPart  = "attributes"
	credentialsPart = "credentials"
)

// An importPart is an argument of "portico import".
type importPart struct {
	name string
	// parts are those of the old shop that are imported for it; nil for the arguments
	// that are not kinds of records.
	parts []magento1.Part
	// written names the resources of the setting routes whose calls change the records.
	written []string
}

// importParts returns the arguments of the command in the order of import: records before
// those that refer to them.
func importParts() []importPart {
	return []importPart{
		{"websites", []magento1.Part{magento1.Websites, magento1.Directory}, nil},
		{"customer-groups", []magento1.Part{magento1.CustomerGroups}, nil},
		{"taxes", []magento1.Part{magento1.Taxes}, nil},
		{attributesPart, nil, nil},
		{"categories", []magento1.Part{magento1.Categories}, nil},
		{"products", []magento1.Part{magento1.Products}, []string{"products", "product_websites", "product_categories"}},
		{"images", []magento1.Part{magento1.Images}, []string{"product_images"}},
		{"stock", []magento1.Part{magento1.Stock}, []string{"stock_items", "products"}},
		{"customers", []magento1.Part{magento1.Customers}, []string{"customers"}},
		{"addresses", []magento1.Part{magento1.Addresses}, []string{"customer_addresses"}},
		{"orders", []magento1.Part{magento1.Orders}, []string{"orders", "order_comments"}},
		{credentialsPart, nil, nil},
	}
}

// importPartNames returns the arguments that the command takes.
func importPartNames() []string {
	var names []string
	for _, p := range importParts() {
		names = append(names, p.name)
	}
	return append(names, allParts)
}

// chosenParts returns the parts that the arguments name, in the order of import.
func chosenParts(args []string) []importPart {
	return slices.DeleteFunc(importParts(), func(p importPart) bool {
		return !slices.Contains(args, allParts) && !slices.Contains(args, p.name)
	})
}

// writtenHere returns which of the resources that change the part's records have writes that
// Portico answers while there is an old system: what clients have written must not be replaced.
func (p *importPart) writtenHere(cfg *config.Config) []string {
	if cfg.Legacy.URL == "" {
		return nil
	}
	rules := newRules(cfg.Routes)
	return slices.DeleteFunc(slices.Clone(p.written), func(resource string) bool {
		return rules.For(&contract.Address{Route: &contract.Route{Resource: resource}}).To != passthrough.Portico
	})
}

// readWhole reports whether a part is always read as a whole, as one range of keys.
func readWhole(p magento1.Part) bool {
	switch p {
	case magento1.Websites, magento1.Directory, magento1.CustomerGroups, magento1.Taxes, magento1.Categories:
		return true
	default:
		return false
	}
}
