package importer

import (
	"github.com/portico-commerce/portico/adapter/magento1"
	"slices"
)

// Names of groups that are no kinds of records.
const (
	// All stands for all groups.
	All              = "all"
	CredentialsGroup = "credentials"
	attributesGroup  = "attributes"
)

// A group is a set of parts of the legacy store that are imported together, under a name that users
// choose.
type group struct {
	Name string
	// parts are the imported parts of the legacy store; nil for the groups that are not kinds of
	// records.
	parts []magento1.Part
	// written names the resources of the setting routes whose calls change the records.
	written []string
}

// groups returns all groups in the order of import: records before the records that refer to them.
func groups() []group {
	return []group{
		{"websites", []magento1.Part{magento1.Websites, magento1.Directory}, nil},
		{"customer-groups", []magento1.Part{magento1.CustomerGroups}, nil},
		{"taxes", []magento1.Part{magento1.Taxes}, nil},
		{attributesGroup, nil, nil},
		{"categories", []magento1.Part{magento1.Categories}, nil},
		{"products", []magento1.Part{magento1.Products}, []string{"products", "product_websites", "product_categories"}},
		{"images", []magento1.Part{magento1.Images}, []string{"product_images"}},
		{"stock", []magento1.Part{magento1.Stock}, []string{"stock_items", "products"}},
		{"customers", []magento1.Part{magento1.Customers}, []string{"customers"}},
		{"addresses", []magento1.Part{magento1.Addresses}, []string{"customer_addresses"}},
		{"orders", []magento1.Part{magento1.Orders}, []string{"orders", "order_comments"}},
		{CredentialsGroup, nil, nil},
	}
}

// GroupNames returns the names that Groups takes, in the order of import, with All.
func GroupNames() []string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.Name)
	}
	return append(names, All)
}

// Groups returns the groups that are named, in the order of import.
func Groups(names ...string) []group {
	return slices.DeleteFunc(groups(), func(g group) bool {
		return !slices.Contains(names, All) && !slices.Contains(names, g.Name)
	})
}

// writtenHere returns the resources whose writes change the group's records and are answered by
// Portico while there is a legacy store: an import must not replace values that clients have
// written.
func (g *group) writtenHere(here func(resource string) bool) []string {
	if here == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(g.written), func(resource string) bool { return !here(resource) })
}

// ReadWhole reports whether a part is always read as a whole, as one range of keys.
func ReadWhole(p magento1.Part) bool {
	switch p {
	case magento1.Websites, magento1.Directory, magento1.CustomerGroups, magento1.Taxes, magento1.Categories:
		return true
	default:
		return false
	}
}

// Keeps reports whether the records of a part that exist here stay as they are, since clients
// write them here.
func (o *Options) Keeps(p magento1.Part) bool {
	return slices.ContainsFunc(groups(), func(g group) bool { return slices.Contains(g.parts, p) && len(g.writtenHere(o.WrittenHere)) > 0 })
}
