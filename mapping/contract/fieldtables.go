package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fields holds the table of fields of every resource, as one store shows it. It
// is immutable once made.
type Fields struct {
	Customers, CustomerAddresses *FieldTable
	// AdminProducts are products as an Admin has them, PublicProducts as Customers
	// and Guests have them, ProductStock the stock item inside an Admin's product.
	AdminProducts, PublicProducts, ProductStock *FieldTable
	// AssignedProducts and PublicAssignedProducts are what the original shows of a
	// product in the place of a category assignment.
	AssignedProducts, PublicAssignedProducts          *FieldTable
	ProductImages, ProductWebsites, ProductCategories *FieldTable
	StockItems                                        *FieldTable
	Orders, OrderItems, OrderAddresses                *FieldTable
	// OrderCommentList is OrderComments with the fields in the order of the list of
	// an order's comments.
	OrderComments, OrderCommentList *FieldTable
}

// FieldOptions are what the configuration of a store makes of the contract's
// fields (What the service does). Resources are named as the adapters name them.
type FieldOptions struct {
	Added    []AddedField
	Narrowed []NarrowedFields
}

// An AddedField is a field of the store's own: the value of the attribute of the
// same name.
type AddedField struct {
	Resource string // customers, customer_addresses or products
	Name     string
	// Read holds the roles that may read the field, and filter and sort by it; Write
	// those whose values for it are taken, Admin or, but for products, Customer.
	Read, Write []Role
	// InList and InSingle: the view shows the field unasked.
	InList, InSingle bool
}

// NarrowedFields keep a role to some of the fields that the contract gives it
// (wire 4). Fields the store added are not meant: they name their readers and
// writers themselves.
type NarrowedFields struct {
	Resource string
	Role     Role
	// Read and Write name the fields that the role may still read, and those of
	// which its values are taken. An empty list leaves none; nil leaves all.
	Read, Write []string
}

// NewFields returns the tables of the contract, changed by o. Its error joins all
// that is wrong with o: each says what would be right.
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
	var faults []error
	for _, n := range o.Narrowed {
		faults = append(faults, f.narrow(n))
	}
	for _, added := range o.Added {
		faults = append(faults, f.add(added))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return f, nil
}

// StandardFields returns the tables of the contract as they stand.
func StandardFields() *Fields {
	f, err := NewFields(FieldOptions{})
	if err != nil {
		panic(err) // there is nothing to be wrong
	}
	return f
}

// A resourceFields is a resource and the tables by which its records are shown: a
// role finds a field in one of them, or in several that show the same.
type resourceFields struct {
	name   string
	tables []*FieldTable
	// extensible: a store can add fields.
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
		{"stock_items", []*FieldTable{f.StockItems, f.ProductStock}, false},
		{"orders", []*FieldTable{f.Orders}, false},
		{"order_items", []*FieldTable{f.OrderItems}, false},
		{"order_addresses", []*FieldTable{f.OrderAddresses}, false},
		{"order_comments", []*FieldTable{f.OrderComments, f.OrderCommentList}, false},
	}
}

// resourceOf names the resource whose records a table shows, and returns all its
// tables.
func (f *Fields) resourceOf(table *FieldTable) (string, []*FieldTable) {
	for _, r := range f.resources() {
		if slices.Contains(r.tables, table) {
			return r.name, r.tables
		}
	}
	return "", nil
}

// Resources names the resources whose fields can be narrowed, or with extensible
// those that fields can be added to.
func (f *Fields) Resources(extensible bool) []string {
	var names []string
	for _, r := range f.resources() {
		if r.extensible || !extensible {
			names = append(names, r.name)
		}
	}
	return names
}

// of returns the tables of a resource. It fails for one that Resources does not
// name.
func (f *Fields) of(resource string, extensible bool) ([]*FieldTable, error) {
	for _, r := range f.resources() {
		if r.name == resource && (r.extensible || !extensible) {
			return r.tables, nil
		}
	}
	return nil, fmt.Errorf("no such fields of %q: use one of %s", resource, strings.Join(f.Resources(extensible), ", "))
}

// narrow takes from a role what n does not leave it.
func (f *Fields) narrow(n NarrowedFields) error {
	tables, err := f.of(n.Resource, false)
	if err != nil {
		return err
	}
	var faults []error
	check := func(kept []string, what string, may func(*Field) bool) {
		for _, name := range kept {
			if !slices.ContainsFunc(tables, func(t *FieldTable) bool {
				i, ok := t.index[name]
				return ok && may(&t.Fields[i])
			}) {
				faults = append(faults, fmt.Errorf("the contract lets the role %s %s no field %q of %s: leave it out", n.Role, what, name, n.Resource))
			}
		}
	}
	check(n.Read, "read", func(f *Field) bool { return f.mayRead(n.Role) })
	check(n.Write, "write", func(f *Field) bool { return f.mayWrite(n.Role) })
	for _, t := range tables {
		for i := range t.Fields {
			field := &t.Fields[i]
			// A second name of an attribute goes with the first.
			if n.Read != nil && !slices.Contains(n.Read, field.Name) && !slices.Contains(n.Read, field.Attribute) {
				field.Read &^= 1 << n.Role
				for c := range field.alsoRead {
					field.alsoRead[c] &^= 1 << n.Role
				}
			}
			if n.Write != nil && !slices.Contains(n.Write, field.Name) {
				field.Write &^= 1 << n.Role
				for c := range field.alsoWrite {
					field.alsoWrite[c] &^= 1 << n.Role
				}
			}
		}
	}
	return errors.Join(faults...)
}

// mayRead reports whether a dialect lets role read the field.
func (f *Field) mayRead(role Role) bool {
	read := f.Read
	for _, also := range f.alsoRead {
		read |= also
	}
	return read.Has(role)
}

// mayWrite reports whether a dialect takes a value for the field from role.
func (f *Field) mayWrite(role Role) bool {
	write := f.Write
	for _, also := range f.alsoWrite {
		write |= also
	}
	return write.Has(role)
}

// add adds a field of the store's own to the tables of its resource.
func (f *Fields) add(added AddedField) error {
	tables, err := f.of(added.Resource, true)
	if err != nil {
		return err
	}
	if slices.Contains(f.reserved(), added.Name) {
		return fmt.Errorf("the name %q has a meaning of its own: choose another, as shop_%[1]s", added.Name)
	}
	for _, t := range tables {
		if _, taken := t.index[added.Name]; taken {
			return fmt.Errorf("the contract has a field %q of %s: choose another name, as shop_%[1]s", added.Name, added.Resource)
		}
	}
	ofPerson := added.Resource != "products"
	field := Field{Name: added.Name, Attribute: added.Name, OnceStored: ofPerson, Personal: ofPerson}
	for _, role := range added.Read {
		field.Read |= 1 << role
	}
	for _, role := range added.Write {
		if role != Admin && (role != Customer || added.Resource == "products") {
			return fmt.Errorf("the role %s writes no %s: leave it out of the writers", role, added.Resource)
		}
		field.Write |= 1 << role
	}
	if added.InList {
		field.shown = [columns]shown{inList, inList}
	}
	if added.InSingle {
		for c := range field.shown {
			field.shown[c] |= inSingle
		}
	}
	for _, t := range tables {
		t.add(field)
	}
	return nil
}

// reserved lists the names that mean something else in requests and data sets: the
// list modifiers (wire 10), the customer's password, the element that stands for
// the entry of a list in XML (contract 2, convention 1), and the words of paths.
func (f *Fields) reserved() []string {
	names := []string{"page", "limit", "order", "dir", "filter", "attrs", "password", "data_item"}
	for _, r := range Routes(f) {
		for _, part := range r.parts {
			names = append(names, strings.TrimPrefix(part, ":"))
		}
	}
	return names
}
