package contract

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// A Shape is the target of a route: one record or a collection.
type Shape uint8

// The shapes of routes.
const (
	Entity Shape = iota
	Collection
)

// A Method is one of the four methods of the contract.
type Method uint8

// The methods of the contract, and one for all others.
const (
	GET Method = iota
	POST
	PUT
	DELETE
	// OtherMethod stands for every other method.
	OtherMethod
	methodCount = OtherMethod
)

// Methods returns the four methods, in the order of the access notation.
func Methods() []Method { return []Method{GET, POST, PUT, DELETE} }

// String returns the method as it appears on the request line.
func (m Method) String() string { return [...]string{"GET", "POST", "PUT", "DELETE", "other"}[m] }

// ParseMethod parses the method of a request line and reports whether it is one of the
// four. Method names are case-sensitive (wire 3).
func ParseMethod(s string) (Method, bool) {
	for _, m := range Methods() {
		if s == m.String() {
			return m, true
		}
	}
	return OtherMethod, false
}

// MethodLabel returns method if it is a common HTTP method, else "OTHER". Other methods
// are arbitrary text chosen by the client and must not become labels.
func MethodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "OTHER"
}

// An Access is the table's decision on one method for one role.
type Access byte

const (
	// Serve: a handler answers.
	Serve Access = 's'
	// Deny: 403, before version, method and body are checked.
	Deny Access = 'd'
	// NotImplemented: 405 "not implemented yet", before the body is checked.
	NotImplemented Access = 'i'
	// NotSupported: 405 "does not support", before the body is checked.
	NotSupported Access = 'n'
	// NotSupportedLate: the same, after the body has passed its checks.
	NotSupportedLate Access = 'x'
	// DenyLate: 403 "does not support", after the body has passed its checks.
	DenyLate Access = 'f'
)

// Modifiers are the effects of page, limit, order, dir and filter on a list (wire 10).
type Modifiers uint8

const (
	// NoModifiers: the list ignores them.
	NoModifiers Modifiers = iota
	// CheckedModifiers: the list refuses invalid ones, and holds all records nevertheless.
	CheckedModifiers
	// AppliedModifiers: they select and order the records.
	AppliedModifiers
)

// A Route is one row of the route table: a path and everything that the pipeline must know
// about it before a handler runs.
type Route struct {
	// Resource is the name of the resource, as in adapters and the configuration.
	Resource string
	// Path is the path below /api/rest; segments that begin with a colon are parameters
	// and match any text.
	Path  string
	Shape Shape
	// Help describes the target of the path in a few words.
	Help string
	// Calls holds the name of the call for each served method, in the order GET POST PUT
	// DELETE.
	Calls [methodCount]string
	// ContentTypeRequired: the document requires a Content-Type for bodies here, so a
	// request without one is rejected in all dialects.
	ContentTypeRequired bool
	// CreatesLists: the body of a POST may be a list of records.
	CreatesLists bool
	// KeyedByID: in JSON a list is an object with the ids of the records as keys; otherwise
	// it is an array (contract 2, convention 2).
	KeyedByID bool
	// Modifiers is the effect of the list modifiers, on a route that lists records.
	Modifiers Modifiers
	// Query names the parameters of paths that a call may send in the query instead, if its
	// path has none of the name (wire 2).
	Query []string
	// Fields is the field table of the records.
	Fields *FieldTable
	// Shown are the field tables of the records in replies: one for all roles, or one for
	// an Admin and one for the others.
	Shown []*FieldTable
	// Unimplemented is the 405 for calls that do not exist here.
	Unimplemented FaultKey
	// NotFound is the 404 for the product in the path.
	NotFound FaultKey
	// Failed is the fault for failures that are not the client's.
	Failed FaultKey

	// numbersItems: in XML the elements of the list are data_item_1, data_item_2 and so on
	// (contract 2, convention 1).
	numbersItems cells[bool]
	// listsSuccess: the reply to creating one record is a list of successes, as for several
	// (contract 5.6).
	listsSuccess cells[bool]
	// jsonInTextXML: a body of type text/xml that looks like JSON is parsed as JSON, because
	// the document requires this type although the body may be JSON.
	jsonInTextXML cells[bool]

	formats string // default format per method, the fifth for other methods: x XML, j JSON
	access  cells[access]
	parts   []string
	tables  []*FieldTable // the field tables of the resource for all roles, Fields among them
	// personal: at least one field of the tables is private.
	personal bool
}

// Field returns the field called name from the tables of all roles, and reports whether
// it exists.
func (r *Route) Field(name string) (*Field, bool) {
	for _, t := range r.tables {
		if i, ok := t.index[name]; ok {
			return &t.Fields[i], true
		}
	}
	return nil, false
}

// Personal reports whether the resource's records contain personal data or secrets.
func (r *Route) Personal() bool { return r.personal }

// Access returns the decision for role and method m in dialect d.
func (r *Route) Access(d *Dialect, role Role, m Method) Access {
	return r.access.at(d.column).of(role, m)
}

// DefaultFormat returns the format that the document gives for m. Methods without one use
// the format for reading the path (wire 5), except that on the paths of products every
// method but reading uses JSON (products 9).
func (r *Route) DefaultFormat(m Method) Format {
	if r.formats[m] == 'j' {
		return JSON
	}
	return XML
}

// NumbersItems reports whether dialect d numbers the elements of the route's list in XML.
func (r *Route) NumbersItems(d *Dialect) bool { return r.numbersItems.of(d) }

// ListsSuccess reports whether dialect d replies to creating one record with a list of
// successes.
func (r *Route) ListsSuccess(d *Dialect) bool { return r.listsSuccess.of(d) }

// JSONInTextXML reports whether a body of type text/xml may be JSON in dialect d.
func (r *Route) JSONInTextXML(d *Dialect) bool { return r.jsonInTextXML.of(d) }

// Param returns the index of the parameter called name among the parameters of the path.
func (r *Route) Param(name string) (int, bool) {
	at := 0
	for _, part := range r.parts {
		if part[0] == ':' {
			if part[1:] == name {
				return at, true
			}
			at++
		}
	}
	return 0, false
}

// access is the access notation of the three roles, each in the order GET POST PUT DELETE.
type access struct{ admin, customer, guest string }

// of returns the decision for role and method m.
func (a *access) of(role Role, m Method) Access {
	return Access([roleCount]string{Admin: a.admin, Customer: a.customer, Guest: a.guest}[role][m])
}

const nobody = "dddd"

// Routes returns the route table in the order in which routes are tried (wire 2), with the
// given field tables. Access is written in the notation of wire 3: one letter each for
// GET, POST, PUT and DELETE, see the constants of [Access]. Default formats have a fifth
// letter for all other methods. Product routes have the field table of an Admin, because
// only an Admin sends bodies there.
func Routes(fields *Fields) []*Route {
	assigned := []*FieldTable{fields.AssignedProducts, fields.PublicAssignedProducts}
	products := access{"ssii", "sddd", "sddd"}
	product := access{"siss", "sddd", "sddd"}
	orderPart := access{"siii", "sddd", nobody}
	orderPartNotAllowed := access{"snnn", "sddd", nobody}
	listProducts := [methodCount]string{GET: "listProducts", POST: "createProduct"}
	oneProduct := [methodCount]string{GET: "getProduct", PUT: "updateProduct", DELETE: "deleteProduct"}
	images := [methodCount]string{GET: "listProductImages", POST: "createProductImage"}
	oneImage := [methodCount]string{GET: "getProductImage", PUT: "updateProductImage", DELETE: "deleteProductImage"}

	inDocument := cells[bool]{documented: true}
	routes := []*Route{
		{Path: "/customers/:id", Shape: Entity, formats: "xxxxx", Help: "one customer", Fields: fields.Customers,
			access: perDialect(access{"snss", "snsd", nobody}, access{"siss", "sdsd", nobody}),
			Calls:  [methodCount]string{GET: "getCustomer", PUT: "updateCustomer", DELETE: "deleteCustomer"}},
		{Path: "/customers", Shape: Collection, formats: "xxxxx", KeyedByID: true, Modifiers: AppliedModifiers, Help: "customers", Fields: fields.Customers,
			access: perDialect(access{"ssnn", "ddnn", nobody}, access{"ssii", "sdfd", nobody}),
			Calls:  [methodCount]string{GET: "listCustomers", POST: "createCustomer"}},
		{Path: "/customers/addresses/:id", Shape: Entity, formats: "xxxxx", Help: "one customer address", Fields: fields.CustomerAddresses,
			access: perDialect(access{"snss", "snss", nobody}, access{"siss", "siss", nobody}),
			Calls:  [methodCount]string{GET: "getCustomerAddress", PUT: "updateCustomerAddress", DELETE: "deleteCustomerAddress"}},
		{Path: "/customers/:customer_id/addresses", Shape: Collection, formats: "xxxxx", Modifiers: CheckedModifiers, Help: "addresses of a customer", Fields: fields.CustomerAddresses,
			access: perDialect(access{"ssnn", "ssnn", nobody}, access{"ssii", "ssii", nobody}),
			Calls:  [methodCount]string{GET: "listCustomerAddresses", POST: "createCustomerAddress"}},

		{Path: "/products/:id", Shape: Entity, formats: "xjjjj", Query: []string{"store"}, Help: "one product", Fields: fields.AdminProducts, access: both(product), Calls: oneProduct},
		{Path: "/products/:id/store/:store", Shape: Entity, formats: "xjjjj", Help: "one product as a store view has it", Fields: fields.AdminProducts, access: both(product), Calls: oneProduct},
		{Path: "/products", Shape: Collection, formats: "xjjjj", KeyedByID: true, Modifiers: AppliedModifiers, Query: []string{"store", "category_id"}, Help: "products", Fields: fields.AdminProducts, access: both(products), Calls: listProducts},
		{Path: "/products/store/:store", Shape: Collection, formats: "xjjjj", KeyedByID: true, Modifiers: AppliedModifiers, Query: []string{"category_id"}, Help: "products as a store view has them", Fields: fields.AdminProducts, access: both(products), Calls: listProducts},
		{Path: "/products/category/:category_id", Shape: Collection, formats: "xjjjj", KeyedByID: true, Modifiers: AppliedModifiers, Query: []string{"store"}, Help: "products of a category", Fields: fields.AdminProducts, access: both(products), Calls: listProducts},
		{Path: "/products/store/:store/category/:category_id", Shape: Collection, formats: "xjjjj", KeyedByID: true, Modifiers: AppliedModifiers, Help: "products of a category as a store view has them", Fields: fields.AdminProducts, access: both(products), Calls: listProducts},
		{Path: "/products/category/:category_id/store/:store", Shape: Collection, formats: "xjjjj", KeyedByID: true, Modifiers: AppliedModifiers, Help: "products of a category as a store view has them", Fields: fields.AdminProducts, access: both(products), Calls: listProducts},

		{Path: "/products/:id/categories", Shape: Collection, formats: "jjjjj", Query: []string{"store"}, Help: "categories of a product",
			Unimplemented: CategoryMethodNotImplemented, Fields: fields.ProductCategories,
			access: perDialect(access{"ssii", "sddd", nobody}, access{"ssii", "sddd", "sddd"}),
			Calls:  [methodCount]string{GET: "listProductCategories", POST: "createProductCategory"}},
		{Path: "/products/:id/categories/:category_id", Shape: Entity, formats: "jjjjj", Query: []string{"store"}, Shown: assigned, Help: "one category of a product",
			Unimplemented: CategoryMethodNotImplemented, Fields: fields.ProductCategories,
			access: perDialect(access{"iiis", "iddd", nobody}, access{"sixs", "sddd", "sddd"}),
			Calls:  [methodCount]string{GET: "getProductCategory", DELETE: "deleteProductCategory"}},

		{Path: "/products/:id/images/:image", Shape: Entity, formats: "xxxxx", Query: []string{"store"}, Help: "one image of a product", access: both(product), Calls: oneImage,
			Fields: fields.ProductImages, NotFound: ImageResourceNotFound, Failed: ImageInternalError},
		{Path: "/products/:id/images/:image/store/:store", Shape: Entity, formats: "xxxxx", Help: "one image of a product as a store view has it", access: both(product), Calls: oneImage,
			Fields: fields.ProductImages, NotFound: ImageResourceNotFound, Failed: ImageInternalError},
		{Path: "/products/:id/images", Shape: Collection, formats: "xxxxx", Query: []string{"store"}, Help: "images of a product", access: both(products), Calls: images,
			Fields: fields.ProductImages, NotFound: ImageResourceNotFound, Failed: ImageInternalError},
		{Path: "/products/:id/images/store/:store", Shape: Collection, formats: "xxxxx", Help: "images of a product as a store view has them", access: both(products), Calls: images,
			Fields: fields.ProductImages, NotFound: ImageResourceNotFound, Failed: ImageInternalError},

		{Path: "/products/:product_id/websites/:website_id", Shape: Entity, formats: "xxxxx", Help: "one website of a product",
			access: both(access{"xixs", nobody, nobody}), Fields: fields.ProductWebsites, NotFound: ProductNotFound,
			Calls: [methodCount]string{DELETE: "deleteProductWebsite"}},
		{Path: "/products/:product_id/websites", Shape: Collection, formats: "xxxxx", Help: "websites of a product",
			access: both(access{"ssii", nobody, nobody}), CreatesLists: true, listsSuccess: inDocument, Fields: fields.ProductWebsites, NotFound: ProductNotFound,
			Calls: [methodCount]string{GET: "listProductWebsites", POST: "createProductWebsites"}},

		{Path: "/stockitems/:id", Shape: Entity, formats: "jjjjj", Help: "one stock item", ContentTypeRequired: true, jsonInTextXML: inDocument, Fields: fields.StockItems,
			access: perDialect(access{"sisn", nobody, nobody}, access{"sisi", nobody, nobody}),
			Calls:  [methodCount]string{GET: "getStockItem", PUT: "updateStockItem"}},
		{Path: "/stockitems", Shape: Collection, formats: "jjjjj", Modifiers: AppliedModifiers, Help: "stock items", ContentTypeRequired: true, jsonInTextXML: inDocument, Fields: fields.StockItems,
			access: both(access{"sisi", nobody, nobody}),
			Calls:  [methodCount]string{GET: "listStockItems", PUT: "updateStockItems"}},

		{Path: "/orders/:id", Shape: Entity, formats: "xxxxx", Help: "one order", access: both(orderPart), Fields: fields.Orders,
			Calls: [methodCount]string{GET: "getOrder"}},
		{Path: "/orders", Shape: Collection, formats: "xxxxx", KeyedByID: true, numbersItems: inDocument, Modifiers: AppliedModifiers, Help: "orders", Fields: fields.Orders,
			access: perDialect(access{"siii", "sddd", "sddd"}, access{"siii", "sddd", nobody}),
			Calls:  [methodCount]string{GET: "listOrders"}},
		{Path: "/orders/:id/items", Shape: Collection, formats: "xxxxx", Modifiers: AppliedModifiers, Help: "lines of an order", access: both(orderPart), Fields: fields.OrderItems,
			Calls: [methodCount]string{GET: "listOrderItems"}},
		{Path: "/orders/:order_id/addresses/:address_type", Shape: Entity, formats: "xxxxx", Help: "billing or shipping address of an order", Fields: fields.OrderAddresses,
			access: perDialect(orderPartNotAllowed, orderPart),
			Calls:  [methodCount]string{GET: "getOrderAddress"}},
		{Path: "/orders/:order_id/addresses", Shape: Collection, formats: "xxxxx", Modifiers: AppliedModifiers, Help: "addresses of an order", Fields: fields.OrderAddresses,
			access: perDialect(orderPartNotAllowed, orderPart),
			Calls:  [methodCount]string{GET: "listOrderAddresses"}},
		{Path: "/orders/comments/:id", Shape: Entity, formats: "xxxxx", Help: "one comment on an order", Fields: fields.OrderComments,
			access: both(access{"siii", "iddd", nobody}),
			Calls:  [methodCount]string{GET: "getOrderComment"}},
		{Path: "/orders/:id/comments", Shape: Collection, formats: "xxxxx", Modifiers: AppliedModifiers, Help: "comments on an order", Fields: fields.OrderCommentList,
			access: perDialect(access{"siii", "sddd", nobody}, access{"ssii", "sddd", nobody}),
			Calls:  [methodCount]string{GET: "listOrderComments", POST: "createOrderComment"}},
	}
	for _, r := range routes {
		r.Resource, r.tables = fields.resourceOf(r.Fields)
		r.personal = slices.ContainsFunc(r.tables, func(t *FieldTable) bool {
			return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Private() })
		})
		r.parts = strings.Split(r.Path[1:], "/")
		switch {
		case r.Shown != nil:
		case r.Fields == fields.AdminProducts:
			r.Shown = []*FieldTable{fields.AdminProducts, fields.PublicProducts}
		default:
			r.Shown = []*FieldTable{r.Fields}
		}
		r.Unimplemented = cmp.Or(r.Unimplemented, MethodNotImplemented)
		r.NotFound = cmp.Or(r.NotFound, NotFound)
		r.Failed = cmp.Or(r.Failed, InternalError)
	}
	return routes
}
