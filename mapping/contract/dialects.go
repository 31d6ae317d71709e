package contract

// A Dialect is one of the two ways to speak the contract. Its flags name the
// places where behaviour, not only text or fields, depends on the dialect.
type Dialect struct {
	Name string
	// Root is the name of the root element of XML replies (contract 2, convention 1).
	Root string
	// DefaultFormats: a call without Accept, or with */* in front, is answered
	// in the endpoint's default format, and a body without Content-Type is read
	// in it (contract 5.1, rule 2). Without it no Accept is an error and */* is
	// JSON (wire 5).
	DefaultFormats bool
	// JSONInTextXML: where the document demands Content-Type: text/xml although
	// the body may be JSON, a body that looks like JSON is read as JSON.
	JSONInTextXML bool
	// EmptySelections: attrs that name no readable field give records without
	// fields; otherwise that is a crash of the original (wire 14), and a record of
	// which a role reads nothing is an empty list (wire 4).
	EmptySelections bool
	// OneValueEach: a list or object for a field that holds one value, and a boolean
	// that means nothing there, is refused (rulings 10); otherwise some of them pass,
	// and most of these store nothing.
	OneValueEach bool
	// AbsentIsNull: a field without a value, or with an empty one, is present and null
	// (contract 2, convention 2); otherwise a field that was never stored is missing,
	// and an empty text is shown as it is.
	AbsentIsNull bool
	// NumberedOrders: in XML the elements of the orders list are data_item_1,
	// data_item_2 and so on (contract 2, convention 1); otherwise each is data_item.
	NumberedOrders bool
	// ZeroLimitOneRow: a limit of zero spelled otherwise than "0" gives one row;
	// otherwise it lifts the limit as "0" does (wire 10).
	ZeroLimitOneRow bool
	// UnappliedFilters: a list that checks its filters without applying them lets
	// pass those on which the original dies as soon as it applies them.
	UnappliedFilters bool
	// TwoStreetLines: of an address with more than two street lines the second
	// text shown holds all lines but the first (contract 3.2).
	TwoStreetLines bool
	// PartialUpdates: an update takes any subset of the fields (contract 5.1,
	// rule 3); otherwise the original's required fields must come along.
	PartialUpdates bool
	// EmptyValues: a field that is present but empty is refused by the message
	// of contract 8.4, in place of its own rules.
	EmptyValues bool
	// SuccessFirst: in a batch reply the success list stands first; otherwise
	// the list that received the first entry does.
	SuccessFirst bool
	// TextComparison: the stock rules compare texts that are no plain numbers as
	// the original does, byte by byte or by their leading number; otherwise by
	// the number that is stored (stock_orders 2.3).
	TextComparison bool
	// CategoryView: the list of one category shows fields of its own, by position
	// in the category; otherwise it is an ordinary list (products 3.9).
	CategoryView bool
	// OrderedByNull: in lists the field they are ordered by is null, not missing,
	// where a record has none (products 3.1).
	OrderedByNull bool
	// PriceIndex: at a store view an Admin's list that is ordered by price is that of
	// the products which have a price there, by what a Guest pays (wire 10).
	PriceIndex bool
	// SpellingKept: some options of a product are stored as they were spelt (products
	// 5.2); otherwise as the plain number.
	SpellingKept bool
	// URLKeyByWebsite: a url_key of which nothing is left is only made from the name
	// once the product is in a website (products 6); otherwise at once.
	URLKeyByWebsite bool
	// StockUnsaid: stock_data that does not say whether the stock is managed is stored
	// as if it were (rulings 13); otherwise a new product loses it.
	StockUnsaid bool
	// PercentFlags: group and tier prices carry is_percent (products 3.4).
	PercentFlags bool
	// UnmanagedTrue: is_in_stock of a product whose stock is not managed is the
	// literal true; otherwise "1" (products 3.4).
	UnmanagedTrue bool
	// UncheckedZero: a required option of a product takes a 0 whether or not it is
	// one (products 5.3, step 8).
	UncheckedZero bool
	// StockReset: an update of a product without stock_data lets the store's
	// settings apply again to three values of its stock item; otherwise it leaves
	// the item alone (products 5.6; contract 5.1, rule 3).
	StockReset bool
	// DividedReset: is_decimal_divided of a product's stock item is 0 after a save
	// that does not carry it and is_qty_decimal 1; otherwise it only goes when
	// is_qty_decimal is not 1 (products 7.2, rule 4; contract 5.1, rule 3).
	DividedReset bool
	// UnverifiableCrash: a signature method that is let in but cannot be
	// verified is a crash; otherwise the method is rejected (wire 12).
	UnverifiableCrash bool
	// GoesOnUnsaved: an error of saving a record is followed by that of going on
	// without it (wire 8).
	GoesOnUnsaved bool
	// Validators: what is kept for Guests goes with an ETag, and a client that has
	// it already gets no body; otherwise the original's headers alone.
	Validators bool
	// ConfirmationKeys: a customer who is created gets a key to confirm the e-mail
	// address with (customers 5).
	ConfirmationKeys bool
	// UnnamedFromTwo: images without a name are called image, image_2, image_3
	// (contract 5.5); otherwise image_1 follows image, as with given names.
	UnnamedFromTwo bool
	// ListsCast: a list that is sent for the name, the position or exclude of an
	// image is what the original makes of it; otherwise it counts as not sent
	// (product_parts 2.3 and 2.5).
	ListsCast bool
	// ExcludeFlag: any number but 0 excludes an image as 1 does (contract 2,
	// convention 3); otherwise it is kept as it is.
	ExcludeFlag bool
	// UnknownUploads: that the product or the store view of a new image does not
	// exist is an unknown error; otherwise the client is told (contract 8.3).
	UnknownUploads bool
	// DeletesEverywhere: an image that is deleted in a store view is gone from all
	// when no other uses it; otherwise that view alone is affected (contract 5.5;
	// product_parts 2.7).
	DeletesEverywhere bool
	// SingleSuccessList: assigning a product to a single website answers with a list
	// of successes, as assigning it to many does (contract 5.6).
	SingleSuccessList bool
	// PlainStoreIDs: the id of a store view to copy to or from, sent as a text, only
	// counts as the digits of the number, and the original dies of another spelling;
	// otherwise any spelling of a whole number is one (product_parts 3.3).
	PlainStoreIDs bool
	// CopiesOfWebsites: copying between store views copies values of the website,
	// too; otherwise those of the store view alone (contract 5.6).
	CopiesOfWebsites bool
	// IDsCut: of an id in a path that is not whole the integer part counts, except
	// for customers, their addresses, single orders and websites; the addresses of
	// orders take the nearest integer, as recorded. Otherwise no record has it
	// (wire 2).
	IDsCut bool
	// UngrantedCrash: a request token that is exchanged before its user has consented
	// makes the original die; otherwise its verifier is wrong (wire 13 and 14).
	UngrantedCrash bool
	// which of two cells of a table row is this dialect's
	column column
}

type column uint8

const (
	documented column = iota
	magento
	columns
)

// Documented returns the dialect of the contract document, to the letter.
func Documented() *Dialect {
	return &Dialect{
		Name: "documented", Root: "service_api", column: documented,
		DefaultFormats: true, JSONInTextXML: true, EmptySelections: true, AbsentIsNull: true, NumberedOrders: true,
		PartialUpdates: true, EmptyValues: true, SuccessFirst: true, TwoStreetLines: true, CategoryView: true,
		OneValueEach: true, StockUnsaid: true,
		UnnamedFromTwo: true, ExcludeFlag: true, SingleSuccessList: true, Validators: true,
	}
}

// Magento returns the dialect of what the original puts on the wire.
func Magento() *Dialect {
	return &Dialect{
		Name: "magento", Root: "magento_api", column: magento,
		ZeroLimitOneRow: true, UnappliedFilters: true, TextComparison: true, OrderedByNull: true, PercentFlags: true,
		UnmanagedTrue: true, UncheckedZero: true, StockReset: true, DividedReset: true, UnverifiableCrash: true, UngrantedCrash: true,
		GoesOnUnsaved: true, ConfirmationKeys: true,
		ListsCast: true, UnknownUploads: true, DeletesEverywhere: true,
		PlainStoreIDs: true, CopiesOfWebsites: true, IDsCut: true, PriceIndex: true, SpellingKept: true, URLKeyByWebsite: true,
	}
}

// Dialects returns every dialect, the default one first.
func Dialects() []*Dialect { return []*Dialect{Documented(), Magento()} }
