package contract

// A Dialect is one of the variants of the contract. Its flags name the places where
// behavior, not only text or the choice of fields, depends on the dialect.
type Dialect struct {
	Name string
	// Root is the name of the root element of XML replies (contract 2, convention 1).
	Root string
	// DefaultFormats: a call without Accept, or with */* in first place, is answered
	// in the endpoint's default format, and a body without Content-Type is parsed in
	// it (contract 5.1, rule 2). Otherwise a missing Accept is an error and */* means
	// JSON (wire 5).
	DefaultFormats bool
	// EmptySelections: an attrs parameter that names no readable field yields records
	// without fields; otherwise the original crashes on it (wire 14), and a record of
	// which the role may read no field is an empty list (wire 4).
	EmptySelections bool
	// RejectsNonScalars: a list or an object for a single-valued field, and a boolean for
	// a field that has no use for one, are rejected (rulings 10); otherwise some of them
	// are accepted, and most of these store nothing.
	RejectsNonScalars bool
	// AbsentIsNull: a field whose value is absent or empty is present as null
	// (contract 2, convention 2); otherwise a field that was never stored is omitted,
	// and an empty text is shown as an empty text.
	AbsentIsNull bool
	// ZeroLimitOneRow: a zero limit in a spelling other than "0" yields one row;
	// otherwise it means no limit, as "0" does (wire 10).
	ZeroLimitOneRow bool
	// UnappliedFilters: a list that validates its filters without applying them accepts
	// filters on which the original crashes only when it applies them.
	UnappliedFilters bool
	// TwoStreetLines: an address with more than two street lines is shown with two texts,
	// the second of which holds all lines but the first (contract 3.2).
	TwoStreetLines bool
	// PartialUpdates: an update accepts any subset of the fields (contract 5.1, rule 3);
	// otherwise it must carry the fields that the original requires.
	PartialUpdates bool
	// EmptyValues: a field that is present but empty is rejected with the message of
	// contract 8.4, before its own rules apply.
	EmptyValues bool
	// SuccessFirst: the success list comes first in a batch reply; otherwise the list
	// that received the first entry does.
	SuccessFirst bool
	// TextComparison: the stock rules compare texts that are not plain numbers as the
	// original does, byte by byte or by their leading number; otherwise by the number
	// that will be stored (stock_orders 2.3).
	TextComparison bool
	// CategoryView: the list of one category has its own set of fields and is ordered by
	// position in the category; otherwise it is an ordinary list (products 3.9).
	CategoryView bool
	// OrderedByNull: in an ordered list, a record without a value for the field that the
	// list is ordered by shows the field as null instead of omitting it (products 3.1).
	OrderedByNull bool
	// PriceIndex: at a store view, an Admin's list ordered by price holds only the
	// products that have a price there, ordered by the price a Guest pays (wire 10).
	PriceIndex bool
	// URLKeyByWebsite: when no usable character of a url_key is left, a key is derived
	// from the name only once the product is assigned to a website (products 6);
	// otherwise immediately.
	URLKeyByWebsite bool
	// AssumesManagedStock: stock_data that leaves open whether the stock is managed is
	// stored as for managed stock (rulings 13); otherwise a new product loses it.
	AssumesManagedStock bool
	// StoredPriceForm: where prices include tax, those of products without a tax class are neither
	// rounded nor, for the most part, numbers (configurations 3.3), and prices of price lists that are
	// converted for a website are numbers, which are not rounded either (configurations 4.2); otherwise texts
	// with four places (contract 2).
	StoredPriceForm bool
	// PercentFlags: group and tier prices carry is_percent (products 3.4).
	PercentFlags bool
	// UnmanagedTrue: is_in_stock of a product whose stock is not managed is the literal
	// true; otherwise "1" (products 3.4).
	UnmanagedTrue bool
	// StockReset: a product update without stock_data makes three values of the stock
	// item follow the store's settings again; otherwise it does not touch the stock item
	// (products 5.6; contract 5.1, rule 3).
	StockReset bool
	// DividedReset: is_decimal_divided of a product's stock item becomes 0 after a save
	// that does not carry it together with is_qty_decimal 1; otherwise it is only reset
	// when is_qty_decimal is not 1 (products 7.2, rule 4; contract 5.1, rule 3).
	DividedReset bool
	// UnverifiableCrash: a signature method that is accepted but cannot be verified
	// crashes the original; otherwise the method is rejected (wire 12).
	UnverifiableCrash bool
	// ContinuesAfterSaveError: the error of a failed save is followed by a second error,
	// because the original continues without the record (wire 8).
	ContinuesAfterSaveError bool
	// Validators: cached replies for Guests carry an ETag, and a conditional request that
	// matches it is answered without a body; otherwise replies carry only the original's
	// headers.
	Validators bool
	// ConfirmationKeys: a new customer gets a key with which to confirm the e-mail
	// address (customers 5).
	ConfirmationKeys bool
	// UnnamedFromTwo: images sent without a name are called image, image_2, image_3
	// (contract 5.5); otherwise image_1 follows image, as for images with a name.
	UnnamedFromTwo bool
	// CastsLists: a list sent for the name, the position or the exclude flag of an image
	// is converted as the original does, and one for the label is an empty label; otherwise
	// it counts as not sent (product_parts 2.3 and 2.5).
	CastsLists bool
	// ExcludeFlag: any number but 0 excludes an image as 1 does (contract 2,
	// convention 3); otherwise the number is stored unchanged.
	ExcludeFlag bool
	// UnknownUploads: uploading an image for a product or store view that does not exist
	// is reported as an unknown error; otherwise the error names the missing record
	// (contract 8.3).
	UnknownUploads bool
	// DeletesEverywhere: deleting an image in a store view deletes it from all store views
	// unless another of them uses it; otherwise it only affects that view (contract 5.5;
	// product_parts 2.7).
	DeletesEverywhere bool
	// PlainStoreIDs: when the id of a store view to copy to or from is sent as a text, it
	// must be plain digits, and the original crashes on other spellings; otherwise any
	// spelling of an integer is accepted (product_parts 3.3).
	PlainStoreIDs bool
	// CopiesWebsiteValues: copying between store views also copies values of the website;
	// otherwise only values of the store view (contract 5.6).
	CopiesWebsiteValues bool
	// TruncatesIDs: an id in a path that is not an integer is truncated to its integer
	// part, except for customers, their addresses, single orders and websites; the
	// addresses of orders round to the nearest integer, as recorded. Otherwise no record
	// matches such an id (wire 2).
	TruncatesIDs bool
	// OwnRecords: an update that sends a record back changes just the fields that differ from it;
	// otherwise all are checked and stored (rulings 22).
	OwnRecords bool
	// Scripts: the interface is also behind the scripts of a shop whose web server rewrites no addresses
	// (rulings 23).
	Scripts bool
	// TypeParameter: the parameter type of the query chooses the web service of the original,
	// of which there is only this one; otherwise it is ignored (wire 2).
	TypeParameter bool
	// CategoryLists: a category_id in the query that is a list of one value counts as that
	// value; otherwise no list names a category (products 3.9).
	CategoryLists bool
	// StoreParameter: the parameter ___store of the query, with the code of another store view
	// than the default one, makes lists of products say from the stock whether a product is
	// saleable; otherwise it is ignored (products 3.8.5).
	StoreParameter bool
	// UnapprovedTokenCrash: exchanging a request token before its user has consented
	// crashes the original; otherwise the reply says that the verifier is wrong (wire 13
	// and 14).
	UnapprovedTokenCrash bool
	// MisreadsMonths: the name of a month in a date counts as its number, at the place where the text
	// has it: 4 Mar 2013 is the third day of the fourth month where the month comes first
	// (configurations 1.2).
	MisreadsMonths bool
	// NumericIntegers: integer columns are numbers in JSON, as in shops whose database layer does not
	// turn values into texts; otherwise they are texts (configurations 10).
	NumericIntegers bool
	// LooseEmails: an e-mail address needs no more than an @ and a point behind it (openmage 6);
	// otherwise its host has to exist by the rules of customers 5.
	LooseEmails bool
	// ListsStoreNothing: a list in place of a text of a customer or an address is accepted, and the
	// stored text stays (openmage 8); otherwise it crashes the original.
	ListsStoreNothing bool
	// RangeNeedsNumber: a weight that is no number is out of range if it sorts after 0; otherwise if it
	// sorts after the limit (openmage 10).
	RangeNeedsNumber bool
	// KeepsAnyBytes: the bytes of an image need not be one (openmage 5).
	KeepsAnyBytes bool
	// RewrittenURLs: url is the rewritten address of the page at the store view, if the product has one;
	// otherwise always the one by its id (openmage 3).
	RewrittenURLs bool
	// RomanizedURLKeys: a url_key spells signs and the letters of all scripts in Latin letters; otherwise
	// only letters of some scripts (openmage 4).
	RomanizedURLKeys bool
	// StoresZeroDates: the date 0000-00-00 is stored as an arbitrary one, as the original does
	// (own_attributes 12); otherwise it is invalid.
	StoresZeroDates bool
	// column selects this dialect's cell in a table row.
	column column
}

type column uint8

const (
	documented column = iota
	magento
	openmage
)

// cells are the values of a table row by dialect. Without a cell of its own, openmage has the value of
// magento.
type cells[T any] struct {
	documented, magento T
	openmage            *T
}

// both returns the cells of a row with one value for all dialects.
func both[T any](v T) cells[T] { return perDialect(v, v) }

// perDialect returns the cells of a row in which the document and the original differ.
func perDialect[T any](ofDocument, ofOriginal T) cells[T] {
	return cells[T]{documented: ofDocument, magento: ofOriginal}
}

// inOpenMage returns the cells with another one for openmage.
func (c cells[T]) inOpenMage(v T) cells[T] {
	c.openmage = &v
	return c
}

// of returns the value in dialect d.
func (c *cells[T]) of(d *Dialect) T { return *c.at(d.column) }

// at returns the cell that holds in a column.
func (c *cells[T]) at(in column) *T {
	switch {
	case in == documented:
		return &c.documented
	case in == openmage && c.openmage != nil:
		return c.openmage
	}
	return &c.magento
}

// ofOriginal returns the cells of the dialects that follow the original.
func (c *cells[T]) ofOriginal() []*T {
	if c.openmage != nil {
		return []*T{&c.magento, c.openmage}
	}
	return []*T{&c.magento}
}

// set sets the cell of a column; the one of magento also for openmage.
func (c *cells[T]) set(in column, v T) {
	if in == openmage {
		c.openmage = &v
		return
	}
	*c.at(in) = v
	if in == magento {
		c.openmage = nil
	}
}

// Documented returns the dialect that follows the contract document literally.
func Documented() *Dialect {
	return &Dialect{
		Name: "documented", Root: "service_api", column: documented,
		DefaultFormats: true, EmptySelections: true, AbsentIsNull: true,
		PartialUpdates: true, EmptyValues: true, SuccessFirst: true, TwoStreetLines: true, CategoryView: true,
		RejectsNonScalars: true, AssumesManagedStock: true,
		UnnamedFromTwo: true, ExcludeFlag: true, Validators: true, OwnRecords: true,
	}
}

// Magento returns the dialect that follows the observed behavior of the original.
func Magento() *Dialect {
	return &Dialect{
		Name: "magento", Root: "magento_api", column: magento,
		ZeroLimitOneRow: true, UnappliedFilters: true, TextComparison: true, OrderedByNull: true, PercentFlags: true, StoredPriceForm: true,
		UnmanagedTrue: true, StockReset: true, DividedReset: true, UnverifiableCrash: true, UnapprovedTokenCrash: true, MisreadsMonths: true, StoresZeroDates: true,
		ContinuesAfterSaveError: true, ConfirmationKeys: true,
		CastsLists: true, UnknownUploads: true, DeletesEverywhere: true,
		PlainStoreIDs: true, CopiesWebsiteValues: true, TruncatesIDs: true, PriceIndex: true, URLKeyByWebsite: true,
		TypeParameter: true, Scripts: true, CategoryLists: true, StoreParameter: true,
	}
}

// OpenMage returns the dialect that follows the observed behavior of OpenMage 20, a later version of
// the original. It differs from Magento in the points of the specification's page openmage.
func OpenMage() *Dialect {
	d := Magento()
	d.Name, d.column = "openmage", openmage
	d.LooseEmails, d.ListsStoreNothing, d.RangeNeedsNumber, d.KeepsAnyBytes = true, true, true, true
	d.RewrittenURLs, d.RomanizedURLKeys = true, true
	return d
}

// WithNumericIntegers returns the dialect of a shop whose integer columns are numbers in JSON: d itself
// if it follows the document, where they are texts (contract 2, convention 2; configurations 10).
func (d *Dialect) WithNumericIntegers() *Dialect {
	if d.column == documented {
		return d
	}
	with := *d
	with.NumericIntegers = true
	return &with
}

// Dialects returns all dialects, the default one first.
func Dialects() []*Dialect { return []*Dialect{Documented(), Magento(), OpenMage()} }
