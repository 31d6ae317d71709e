package contract

import (
	"net/http"
	"slices"
	"strings"
)

// A Shape tells whether a route addresses one record or many.
type Shape uint8

const (
	Entity Shape = iota
	Collection
)

// A Method is one of the four methods of the contract.
type Method uint8

const (
	GET Method = iota
	POST
	PUT
	DELETE
	// OtherMethod stands for every other token.
	OtherMethod
	methodCount = OtherMethod
)

// Methods lists the methods, in the order of the access notation.
func Methods() []Method { return []Method{GET, POST, PUT, DELETE} }

// String returns the method as on the request line.
func (m Method) String() string { return [...]string{"GET", "POST", "PUT", "DELETE", "other"}[m] }

// ParseMethod returns the method of a request line, and whether it is one of the
// four. Names are case-sensitive (wire 3).
func ParseMethod(s string) (Method, bool) {
	for _, m := range Methods() {
		if s == m.String() {
			return m, true
		}
	}
	return OtherMethod, false
}

// MethodLabel returns the method of a request if it is a common method of HTTP, else
// "OTHER": any other method is a text of the client's own, which may hold anything.
func MethodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "OTHER"
}

// An Access is what the table answers to one method of one role.
type Access byte

const (
	// Serve: a handler answers.
	Serve Access = 's'
	// Deny: 403, before version, method and body are looked at.
	Deny Access = 'd'
	// NotImplemented: 405 not implemented yet, before the body is looked at.
	NotImplemented Access = 'i'
	// NotSupported: 405 does not support, before the body is looked at.
	NotSupported Access = 'n'
	// NotSupportedLate: the same, once a body has passed its checks.
	NotSupportedLate Access = 'x'
	// DenyLate: 403 does not support, once a body has passed its checks.
	DenyLate Access = 'f'
)

// A Route is one row of the route table: a path and everything the pipeline
// must know of it before a handler runs.
type Route struct {
	// Resource names what is addressed, as adapters and the configuration do.
	Resource string
	// Path is the path below /api/rest; segments that begin with a colon are
	// parameters and match any text.
	Path  string
	Shape Shape
	// Help says in one line what the path addresses.
	Help string
	// Calls names the call of each method that is served, GET POST PUT DELETE.
	Calls [methodCount]string
	// ContentTypeDemanded: the document demands a Content-Type for bodies here,
	// so a missing one is refused in every dialect.
	ContentTypeDemanded bool
	// CreatesLists: a POST may hold a list of records.
	CreatesLists bool
	// Fields are the fields of the records here.
	Fields *FieldTable
	// Unimplemented is the text of a 405 for calls that do not exist here.
	Unimplemented FaultKey
	// NotFound is the text of a 404 for the product of the path.
	NotFound FaultKey
	// Failed is the text of what is not the client's fault.
	Failed FaultKey

	formats string // default format of each method, the others last: x XML, j JSON
	access  [columns][roleCount]string
	parts   []string
	tables  []*FieldTable // by which the roles know the resource's fields, Fields among them
	// personal: a field of them is private.
	personal bool
}

// Field returns the field called name of the resource's records, as any role knows
// them, and whether there is one.
func (r *Route) Field(name string) (*Field, bool) {
	for _, t := range r.tables {
		if i, ok := t.index[name]; ok {
			return &t.Fields[i], true
		}
	}
	return nil, false
}

// Personal reports whether records of the resource tell of persons.
func (r *Route) Personal() bool { return r.personal }

// Access returns what role gets for m in dialect d.
func (r *Route) Access(d *Dialect, role Role, m Method) Access {
	return Access(r.access[d.column][role][m])
}

// DefaultFormat returns the format the document states for m. For methods it
// gives no format that is the format of reading the path (wire 5), except that on
// the paths of products everything but reading is JSON (products 9).
func (r *Route) DefaultFormat(m Method) Format {
	if r.formats[m] == 'j' {
		return JSON
	}
	return XML
}

// Param returns the place of a parameter among those of the path.
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

// who is the access of the three roles, each GET POST PUT DELETE.
type who struct{ admin, customer, guest string }

func (w who) cells() [roleCount]string {
	return [roleCount]string{Admin: w.admin, Customer: w.customer, Guest: w.guest}
}

// alike is the access on a route where the dialects agree; apart where the
// document says otherwise than the original.
func alike(w who) [columns][roleCount]string { return apart(w, w) }
func apart(ofDocument, ofOriginal who) [columns][roleCount]string {
	return [columns][roleCount]string{documented: ofDocument.cells(), magento: ofOriginal.cells()}
}

const nobody = "dddd"

// Routes returns the route table in the order in which routes are tried (wire
// 2). Access is written as in wire 3: one letter each for GET, POST, PUT and
// DELETE, see the constants of [Access]; so are default formats, with a fifth
// letter for all other methods. The fields are those of the store. A body is read
// by those of an Admin's products, as only an Admin writes them.
func Routes(fields *Fields) []*Route {
	products := who{"ssii", "sddd", "sddd"}
	product := who{"siss", "sddd", "sddd"}
	orderPart := who{"siii", "sddd", nobody}
	orderPartNotAllowed := who{"snnn", "sddd", nobody}
	listProducts := [methodCount]string{GET: "listProducts", POST: "createProduct"}
	oneProduct := [methodCount]string{GET: "getProduct", PUT: "updateProduct", DELETE: "deleteProduct"}
	images := [methodCount]string{GET: "listProductImages", POST: "createProductImage"}
	oneImage := [methodCount]string{GET: "getProductImage", PUT: "updateProductImage", DELETE: "deleteProductImage"}

	routes := []*Route{
		{Path: "/customers/:id", Shape: Entity, formats: "xxxxx", Help: "one customer", Fields: fields.Customers,
			access: apart(who{"snss", "snsd", nobody}, who{"siss", "sdsd", nobody}),
			Calls:  [methodCount]string{GET: "getCustomer", PUT: "updateCustomer", DELETE: "deleteCustomer"}},
		{Path: "/customers", Shape: Collection, formats: "xxxxx", Help: "customers", Fields: fields.Customers,
			access: apart(who{"ssnn", "ddnn", nobody}, who{"ssii", "sdfd", nobody}),
			Calls:  [methodCount]string{GET: "listCustomers", POST: "createCustomer"}},
		{Path: "/customers/addresses/:id", Shape: Entity, formats: "xxxxx", Help: "one customer address", Fields: fields.CustomerAddresses,
			access: apart(who{"snss", "snss", nobody}, who{"siss", "siss", nobody}),
			Calls:  [methodCount]string{GET: "getCustomerAddress", PUT: "updateCustomerAddress", DELETE: "deleteCustomerAddress"}},
		{Path: "/customers/:customer_id/addresses", Shape: Collection, formats: "xxxxx", Help: "addresses of a customer", Fields: fields.CustomerAddresses,
			access: apart(who{"ssnn", "ssnn", nobody}, who{"ssii", "ssii", nobody}),
			Calls:  [methodCount]string{GET: "listCustomerAddresses", POST: "createCustomerAddress"}},

		{Path: "/products/:id", Shape: Entity, formats: "xjjjj", Help: "one product", Fields: fields.AdminProducts, access: alike(product), Calls: oneProduct},
		{Path: "/products/:id/store/:store", Shape: Entity, formats: "xjjjj", Help: "one product as a store view has it", Fields: fields.AdminProducts, access: alike(product), Calls: oneProduct},
		{Path: "/products", Shape: Collection, formats: "xjjjj", Help: "products", Fields: fields.AdminProducts, access: alike(products), Calls: listProducts},
		{Path: "/products/store/:store", Shape: Collection, formats: "xjjjj", Help: "products as a store view has them", Fields: fields.AdminProducts, access: alike(products), Calls: listProducts},
		{Path: "/products/category/:category_id", Shape: Collection, formats: "xjjjj", Help: "products of a category", Fields: fields.AdminProducts, access: alike(products), Calls: listProducts},
		{Path: "/products/store/:store/category/:category_id", Shape: Collection, formats: "xjjjj", Help: "products of a category as a store view has them", Fields: fields.AdminProducts, access: alike(products), Calls: listProducts},
		{Path: "/products/category/:category_id/store/:store", Shape: Collection, formats: "xjjjj", Help: "products of a category as a store view has them", Fields: fields.AdminProducts, access: alike(products), Calls: listProducts},

		{Path: "/products/:id/categories", Shape: Collection, formats: "jjjjj", Help: "categories of a product",
			Unimplemented: CategoryMethodNotImplemented, Fields: fields.ProductCategories,
			access: apart(who{"ssii", "sddd", nobody}, who{"ssii", "sddd", "sddd"}),
			Calls:  [methodCount]string{GET: "listProductCategories", POST: "createProductCategory"}},
		{Path: "/products/:id/categories/:category_id", Shape: Entity, formats: "jjjjj", Help: "one category of a product",
			Unimplemented: CategoryMethodNotImplemented, Fields: fields.ProductCategories,
			access: apart(who{"iiis", "iddd", nobody}, who{"sixs", "sddd", "sddd"}),
			Calls:  [methodCount]string{GET: "getProductCategory", DELETE: "deleteProductCategory"}},

		{Path: "/products/:id/images/:image", Shape: Entity, formats: "xxxxx", Help: "one image of a product", access: alike(product), Calls: oneImage,
			Fields: fields.ProductImages, NotFound: ImageResourceNotFound, Failed: ImageInternalError},
		{Path: "/products/:id/images/:image/store/:store", Shape: Entity, formats: "xxxxx", Help: "one image of a product as a store view has it", access: alike(product), Calls: oneImage,
			Fields: fields.ProductImages, NotFound: ImageResourceNotFound, Failed: ImageInternalError},
		{Path: "/products/:id/images", Shape: Collection, formats: "xxxxx", Help: "images of a product", access: alike(products), Calls: images,
			Fields: fields.ProductImages, NotFound: ImageResourceNotFound, Failed: ImageInternalError},
		{Path: "/products/:id/images/store/:store", Shape: Collection, formats: "xxxxx", Help: "images of a product as a store view has them", access: alike(products), Calls: images,
			Fields: fields.ProductImages, NotFound: ImageResourceNotFound, Failed: ImageInternalError},

		{Path: "/products/:product_id/websites/:website_id", Shape: Entity, formats: "xxxxx", Help: "one website of a product",
			access: alike(who{"xixs", nobody, nobody}), Fields: fields.ProductWebsites, NotFound: ProductNotFound,
			Calls: [methodCount]string{DELETE: "deleteProductWebsite"}},
		{Path: "/products/:product_id/websites", Shape: Collection, formats: "xxxxx", Help: "websites of a product",
			access: alike(who{"ssii", nobody, nobody}), CreatesLists: true, Fields: fields.ProductWebsites, NotFound: ProductNotFound,
			Calls: [methodCount]string{GET: "listProductWebsites", POST: "createProductWebsites"}},

		{Path: "/stockitems/:id", Shape: Entity, formats: "jjjjj", Help: "one stock item", ContentTypeDemanded: true, Fields: fields.StockItems,
			access: apart(who{"sisn", nobody, nobody}, who{"sisi", nobody, nobody}),
			Calls:  [methodCount]string{GET: "getStockItem", PUT: "updateStockItem"}},
		{Path: "/stockitems", Shape: Collection, formats: "jjjjj", Help: "stock items", ContentTypeDemanded: true, Fields: fields.StockItems,
			access: alike(who{"sisi", nobody, nobody}),
			Calls:  [methodCount]string{GET: "listStockItems", PUT: "updateStockItems"}},

		{Path: "/orders/:id", Shape: Entity, formats: "xxxxx", Help: "one order", access: alike(orderPart), Fields: fields.Orders,
			Calls: [methodCount]string{GET: "getOrder"}},
		{Path: "/orders", Shape: Collection, formats: "xxxxx", Help: "orders", Fields: fields.Orders,
			access: apart(who{"siii", "sddd", "sddd"}, who{"siii", "sddd", nobody}),
			Calls:  [methodCount]string{GET: "listOrders"}},
		{Path: "/orders/:id/items", Shape: Collection, formats: "xxxxx", Help: "lines of an order", access: alike(orderPart), Fields: fields.OrderItems,
			Calls: [methodCount]string{GET: "listOrderItems"}},
		{Path: "/orders/:order_id/addresses/:address_type", Shape: Entity, formats: "xxxxx", Help: "billing or shipping address of an order", Fields: fields.OrderAddresses,
			access: apart(orderPartNotAllowed, orderPart),
			Calls:  [methodCount]string{GET: "getOrderAddress"}},
		{Path: "/orders/:order_id/addresses", Shape: Collection, formats: "xxxxx", Help: "addresses of an order", Fields: fields.OrderAddresses,
			access: apart(orderPartNotAllowed, orderPart),
			Calls:  [methodCount]string{GET: "listOrderAddresses"}},
		{Path: "/orders/comments/:id", Shape: Entity, formats: "xxxxx", Help: "one comment on an order", Fields: fields.OrderComments,
			access: alike(who{"siii", "iddd", nobody}),
			Calls:  [methodCount]string{GET: "getOrderComment"}},
		{Path: "/orders/:id/comments", Shape: Collection, formats: "xxxxx", Help: "comments on an order", Fields: fields.OrderCommentList,
			access: apart(who{"siii", "sddd", nobody}, who{"ssii", "sddd", nobody}),
			Calls:  [methodCount]string{GET: "listOrderComments", POST: "createOrderComment"}},
	}
	for _, r := range routes {
		r.Resource, r.tables = fields.resourceOf(r.Fields)
		r.personal = slices.ContainsFunc(r.tables, func(t *FieldTable) bool {
			return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Private() })
		})
		r.parts = strings.Split(r.Path[1:], "/")
		if r.Unimplemented == 0 {
			r.Unimplemented = MethodNotImplemented
		}
		if r.NotFound == 0 {
			r.NotFound = NotFound
		}
		if r.Failed == 0 {
			r.Failed = InternalError
		}
	}
	return routes
}
