package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fields holds the field tables of all resources as configured for one store. It is
// immutable and safe for concurrent use.
type Fields struct {
	Customers, CustomerAddresses *FieldTable
	// AdminProducts are products as an Admin sees them, PublicProducts as Customers and
	// Guests see them, ProductStock the stock item inside an Admin's product.
	AdminProducts, PublicProducts, ProductStock *FieldTable
	// AssignedProducts and PublicAssignedProducts are the product fields that the original
	// shows in place of a category assignment.
	AssignedProducts, PublicAssignedProducts          *FieldTable
	ProductImages, ProductWebsites, ProductCategories *FieldTable
	StockItems                                        *FieldTable
	Orders, OrderItems, OrderAddresses                *FieldTable
	// OrderCommentList has the fields of OrderComments in the order of the comment list of
	// an order.
	OrderComments, OrderCommentList *FieldTable
}

// FieldOptions are a store's changes to the contract's fields (What the service does).
// Resources have the names that adapters use.
type FieldOptions struct {
	Added    []AddedField
	Narrowed []NarrowedFields
	Forms    Forms
}

// An AddedField is a field that the store adds to the contract. It shows the value of the
// attribute of the same name.
type AddedField struct {
	Resource string // customers, customer_addresses or products
	Name     string
	// Read holds the roles that may read the field, and filter and sort by it; Write the
	// roles whose values are accepted: Admin and, except on products, Customer.
	Read, Write []Role
	// InList and InSingle: lists, or single records, show the field by default.
	InList, InSingle bool
	// Integer: the attribute is an integer, such as the id of an option.
	Integer bool
	// FixedTax: the attribute holds fixed product taxes, which lists never show. ByWebsite: each
	// website shows its own besides those of all websites; otherwise only these are shown.
	FixedTax, ByWebsite bool
	// Sort is the effect of ordering a list by the field.
	Sort Sorting
}

// NarrowedFields are the field list of a role and a resource (configurations 8). They do not apply
// to added fields, which name their readers and writers themselves.
type NarrowedFields struct {
	Resource string
	Role     Role
	// Read names all fields that the role reads, among them fields that the contract does not
	// give it. Write names those that it writes of the fields that the contract gives it. An
	// empty list leaves none; nil leaves all. Names that no field has are accepted.
	Read, Write []string
	// WithoutComputed: the role has no list, and all attributes of products alone. In openmage it then
	// reads no computed fields (openmage 2). Only for products, Customers and Guests, without Read.
	WithoutComputed bool
}

// NewFields returns the tables of the contract with the changes of o. The error joins all mistakes
// in o, each with its correction.
func NewFields(o FieldOptions) (*Fields, error) {
	f := &Fields{
		Customers: customerFields(), CustomerAddresses: customerAddressFields(),
		AdminProducts: adminProductFields(), PublicProducts: publicProductFields(), ProductStock: productStockFields(),
		AssignedProducts: assignedProductFields(), PublicAssignedProducts: publicAssignedProductFields(),
		ProductImages: productImageFields(), ProductWebsites: productWebsiteFields(), ProductCategories: productCategoryFields(),
		StockItems: stockItemFields(),
		Orders:     orderFields(), OrderItems: orderItemFields(), OrderAddresses: orderAddressFields(),
		OrderComments: orderCommentFields(), OrderCommentList: orderCommentListFields(),
	}
	f.AdminProducts.mark(func(field *Field) { field.Part = f.ProductStock }, "stock_data")
	f.Orders.mark(func(field *Field) { field.Part = f.OrderAddresses }, "addresses")
	f.Orders.mark(func(field *Field) { field.Part = f.OrderItems }, "order_items")
	f.Orders.mark(func(field *Field) { field.Part = f.OrderComments }, "order_comments")
	o.Forms.show(f) // before it is narrowed
	var faults []error
	for _, n := range o.Narrowed {
		faults = append(faults, f.narrow(n))
	}
	f.hideEmptyParts()
	for _, added := range o.Added {
		faults = append(faults, f.add(added))
	}
	faults = append(faults, o.Forms.apply(f))
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return f, nil
}

// StandardFields returns the tables of the contract without changes.
func StandardFields() *Fields {
	f, err := NewFields(FieldOptions{})
	if err != nil {
		panic(err) // impossible without options
	}
	return f
}

// A resourceFields is a resource with its field tables. A role finds a field in one of
// them, or in several that show the same field.
type resourceFields struct {
	name   string
	tables []*FieldTable
	// extensible: the store can add fields.
	extensible bool
}

func (f *Fields) resources() []resourceFields {
	return []resourceFields{
		{"customers", []*FieldTable{f.Customers}, true},
		{"customer_addresses", []*FieldTable{f.CustomerAddresses}, true},
		{"products", []*FieldTable{f.AdminProducts, f.PublicProducts, f.AssignedProducts, f.PublicAssignedProducts}, true},
		{"product_images", []*FieldTable{f.ProductImages}, false},
		{"product_websites", []*FieldTable{f.ProductWebsites}, false},
		{"product_categories", []*FieldTable{f.ProductCategories}, false},
		{"stock_items", []*FieldTable{f.StockItems}, false},
		{"orders", []*FieldTable{f.Orders}, false},
		{"order_items", []*FieldTable{f.OrderItems}, false},
		{"order_addresses", []*FieldTable{f.OrderAddresses}, false},
		{"order_comments", []*FieldTable{f.OrderComments, f.OrderCommentList}, false},
	}
}

// resourceOf returns the name of the resource that a table belongs to, and all tables of
// that resource.
func (f *Fields) resourceOf(table *FieldTable) (string, []*FieldTable) {
	for _, r := range f.resources() {
		if slices.Contains(r.tables, table) {
			return r.name, r.tables
		}
	}
	return "", nil
}

// Resources names the resources whose fields can be restricted or, with extensible, the
// resources to which fields can be added.
func (f *Fields) Resources(extensible bool) []string {
	var names []string
	for _, r := range f.resources() {
		if r.extensible || !extensible {
			names = append(names, r.name)
		}
	}
	return names
}

// of returns the tables of a resource. It fails for a resource that Resources does not
// return.
func (f *Fields) of(resource string, extensible bool) ([]*FieldTable, error) {
	for _, r := range f.resources() {
		if r.name == resource && (r.extensible || !extensible) {
			return r.tables, nil
		}
	}
	problem := "unknown resource"
	if extensible {
		problem = "fields cannot be added to"
	}
	return nil, fmt.Errorf("%s %q: use one of %s", problem, resource, strings.Join(f.Resources(extensible), ", "))
}

// Granted returns the fields of a resource that the contract lets a role read and write in any
// dialect, without the fields that the store adds. Both
// results are nil for a resource that Resources does not return.
func (f *Fields) Granted(resource string, role Role) (read, write []string) {
	tables, _ := f.of(resource, false)
	add := func(names []string, name string) []string {
		if slices.Contains(names, name) {
			return names
		}
		return append(names, name)
	}
	for _, t := range tables {
		for i := range t.Fields {
			if field := &t.Fields[i]; field.mayRead(role) {
				read = add(read, field.Name)
			}
			if field := &t.Fields[i]; field.mayWrite(role) {
				write = add(write, field.Name)
			}
		}
	}
	return read, write
}

// narrow applies the field list n. It accepts names that no field has: records show nothing for
// them (configurations 8).
func (f *Fields) narrow(n NarrowedFields) error {
	tables, err := f.of(n.Resource, false)
	if err != nil {
		return err
	}
	ofShopper := n.Resource == "products" && n.Role != Admin
	if n.WithoutComputed {
		if !ofShopper || n.Read != nil {
			return errors.New("without_computed is for products and the roles customer and guest, without read: remove one of the keys")
		}
		f.PublicProducts.hideComputed(n.Role)
	}
	if ofShopper {
		f.listStored(n)
	}
	assigned := []*FieldTable{f.AssignedProducts, f.PublicAssignedProducts}
	if n.Resource == "product_categories" && n.Read != nil && len(n.Read) == 0 {
		// A single assignment shows fields of its product: none if the role may read no field of assignments.
		tables = append(slices.Clone(tables), assigned...)
	}
	for _, t := range tables {
		if listed := t.listed[n.Role]; listed != nil && len(listed) == 0 && slices.Contains(assigned, t) {
			continue
		}
		if n.Read != nil {
			t.listed[n.Role] = append([]string{}, n.Read...)
		}
		for i := range t.Fields {
			field := &t.Fields[i]
			if n.Read != nil {
				field.readList.set(n.Role, slices.Contains(n.Read, field.Name))
			}
			if n.Write != nil {
				field.writeList.set(n.Role, slices.Contains(n.Write, field.Name))
			}
		}
	}
	return nil
}

// listStored lets a single product show Customers or Guests the stored attributes that their field
// list names, although only an Admin sees them without a list (configurations 8).
func (f *Fields) listStored(n NarrowedFields) {
	t := f.PublicProducts
	for i := range f.AdminProducts.Fields {
		stored := &f.AdminProducts.Fields[i]
		if stored.Attribute == "" || !slices.Contains(n.Read, stored.Name) {
			continue
		}
		at, ok := t.index[stored.Name]
		if !ok {
			at = len(t.Fields)
			t.add(Field{Name: stored.Name, Attribute: stored.Attribute, Integer: stored.Integer})
			for _, role := range Roles() {
				if t.listed[role] != nil {
					t.Fields[at].readList.set(role, slices.Contains(t.listed[role], stored.Name))
				}
			}
		}
		if t.Fields[at].Read == noRole {
			for _, shown := range t.Fields[at].shown.ofOriginal() {
				*shown |= inSingle
			}
		}
	}
}

// hideEmptyParts hides the fields with nested records from the roles that may read no field of
// these (configurations 8).
func (f *Fields) hideEmptyParts() {
	for i := range f.Orders.Fields {
		field := &f.Orders.Fields[i]
		if field.Part == nil {
			continue
		}
		for _, role := range Roles() {
			if !slices.ContainsFunc(field.Part.Fields, func(part Field) bool {
				return !part.readList.limited.Has(role) || part.readList.named.Has(role)
			}) {
				field.readList.limited |= 1 << role
				field.readList.named &^= 1 << role
			}
		}
	}
}

// mayRead reports whether any dialect lets role read the field.
func (f *Field) mayRead(role Role) bool {
	return f.Read.Has(role) || slices.ContainsFunc(Dialects(), func(d *Dialect) bool { return f.alsoRead.of(d).Has(role) })
}

// mayWrite reports whether any dialect accepts a value for the field from role.
func (f *Field) mayWrite(role Role) bool {
	return slices.ContainsFunc(Dialects(), func(d *Dialect) bool { return f.Offered(d, role) })
}

// add adds a field of the store to the tables of its resource.
func (f *Fields) add(added AddedField) error {
	tables, err := f.of(added.Resource, true)
	if err != nil {
		return err
	}
	if slices.Contains(f.reserved(), added.Name) {
		return fmt.Errorf("the name %q is reserved: choose another, such as shop_%[1]s", added.Name)
	}
	for _, t := range tables {
		if _, taken := t.index[added.Name]; taken {
			return fmt.Errorf("the contract already has a field %q of %s: choose another name, such as shop_%[1]s", added.Name, added.Resource)
		}
	}
	ofPerson := added.Resource != "products"
	field := Field{Name: added.Name, Attribute: added.Name, Integer: added.Integer, Sort: added.Sort, OmittedUntilStored: ofPerson,
		Personal: ofPerson}
	if added.FixedTax {
		field.Attribute, field.FixedTax, field.ByWebsite = "", true, added.ByWebsite
		field.Sort, field.Filter = SortIgnored, Unfilterable
		field.absent = both(inList)
	}
	for _, role := range added.Read {
		field.Read |= 1 << role
	}
	for _, role := range added.Write {
		if role != Admin && (role != Customer || added.Resource == "products") {
			return fmt.Errorf("the role %s cannot write %s: remove it from the writers", role, added.Resource)
		}
		field.Write |= 1 << role
	}
	if added.InList {
		field.shown = both(inList)
	}
	if added.InSingle {
		field.shown = both(field.shown.magento | inSingle)
	}
	for _, t := range tables {
		t.add(field)
	}
	return nil
}

// reserved lists the names that have another meaning in requests and data sets: the list
// modifiers (wire 10), the customer's password, the XML element of a list entry
// (contract 2, convention 1), and the words in paths.
func (f *Fields) reserved() []string {
	names := []string{"page", "limit", "order", "dir", "filter", "attrs", "password", "data_item"}
	for _, r := range Routes(f) {
		for _, part := range r.parts {
			names = append(names, strings.TrimPrefix(part, ":"))
		}
	}
	return names
}
