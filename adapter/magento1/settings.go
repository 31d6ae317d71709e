package magento1

import (
	"context"
	"errors"

	"github.com/portico-commerce/portico/adapter"
)

// A Setting is what the old shop's configuration says about one of Portico's settings.
type Setting struct {
	// Name is the name of Portico's setting, such as "store.timezone", or that of a table,
	// "attributes" or "fields", for one entry of it. "" stands for something that Portico
	// has no setting for: Warning says what it is.
	Name string
	// Value is the value as Portico's configuration file has it: an entry of a table in
	// YAML, as {resource: products, name: size, kind: integer}.
	Value string
	// From is where it was found: "core_config_data default 0 general/locale/timezone",
	// "eav_attribute 134", or "built-in default".
	From string
	// Warning says what the new shop does not do like the old one, or what to check; "" if
	// there is nothing to say.
	Warning string
	// Attribute is the attribute that an entry of "attributes" adds; nil otherwise.
	Attribute *Attribute
}

// An Attribute is an attribute that the old shop has besides those of the contract.
type Attribute struct {
	adapter.AddedAttribute
	Roles []string // roles that read it: admin, customer, guest
	Views []string // views that show it: list, single
}

// Settings returns Portico's settings as the old shop's configuration says they should be,
// in the order of Portico's configuration file. Options.Schemas need not have the
// attributes that it finds: call it first, and read the records with the attributes added.
func (d *Database) Settings(ctx context.Context) ([]Setting, error) {
	return nil, errors.ErrUnsupported
}
