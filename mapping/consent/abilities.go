package consent

import (
	"slices"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// A noun is the name that people use for the records of a resource.
type noun struct {
	all string // of the whole shop
	own string // of the customer who reads it; "" if customers have none of their own
}

// nouns returns the names that people use for the records of each resource of the contract.
func nouns() map[string]noun {
	return map[string]noun{
		"customers":          {"customers", "your account"},
		"customer_addresses": {"addresses of customers", "your addresses"},
		"products":           {all: "products"},
		"product_images":     {all: "images of products"},
		"product_websites":   {all: "websites of products"},
		"product_categories": {all: "categories of products"},
		"stock_items":        {all: "stock items"},
		"orders":             {"orders", "your orders"},
		"order_items":        {"items of orders", "items of your orders"},
		"order_addresses":    {"addresses of orders", "addresses of your orders"},
		"order_comments":     {"comments on orders", "comments on your orders"},
	}
}

// verb returns the verb for a method of the contract.
func verb(m contract.Method) string {
	switch m {
	case contract.GET:
		return "see"
	case contract.POST:
		return "add"
	case contract.PUT:
		return "change"
	default:
		return "delete"
	}
}

// abilities lists in phrases, such as "see and change stock items", the rights of a program
// that acts with the permissions of a user of one kind. Resources with the same methods share a
// phrase.
func (k *userKind) abilities(permissions []contract.Permission) []string {
	var verbs []string
	objects := map[string][]string{} // by verbs
	for _, p := range permissions {
		of := make([]string, len(p.Methods))
		for i, m := range p.Methods {
			of[i] = verb(m)
		}
		does := enumerate(of)
		if !slices.Contains(verbs, does) {
			verbs = append(verbs, does)
		}
		n := nouns()[p.Resource]
		object := n.all
		if k.role == contract.Customer && n.own != "" {
			object = n.own
		}
		objects[does] = append(objects[does], object)
	}
	phrases := make([]string, len(verbs))
	for i, does := range verbs {
		phrases[i] = does + " " + enumerate(objects[does])
	}
	return phrases
}

// enumerate joins words as in "a, b and c".
func enumerate(words []string) string {
	last := len(words) - 1
	if last <= 0 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
