package contract

// A Dialect is one of the two ways to speak the contract. Its flags name the
// places where behaviour, not only text or fields, depends on the dialect.
type Dialect struct {
	Name string
	// Root is the name of the root element of XML replies (Conventions 1).
	Root string
	// DefaultFormats: a call without Accept, or with */* in front, is answered
	// in the endpoint's default format, and a body without Content-Type is read
	// in it (Endpoints, rule 2). Without it no Accept is an error and */* is
	// JSON (wire 5).
	DefaultFormats bool
	// JSONInTextXML: where the document demands Content-Type: text/xml although
	// the body may be JSON, a body that looks like JSON is read as JSON.
	JSONInTextXML bool
	// EmptySelections: attrs that name no readable field give records without
	// fields; otherwise that is a crash of the original (wire 14).
	EmptySelections bool
	// AbsentIsNull: a field without a value, or with an empty one, is present and
	// null (Conventions 2); otherwise a field that was never stored is missing,
	// and an empty text is shown as it is.
	AbsentIsNull bool
	// NumberedOrders: in XML the elements of the orders list are data_item_1,
	// data_item_2 and so on (Conventions 1); otherwise each is data_item.
	NumberedOrders bool
	// ZeroLimitOneRow: a limit of zero spelled otherwise than "0" gives one row;
	// otherwise it lifts the limit as "0" does (wire 10).
	ZeroLimitOneRow bool
	// UnappliedFilters: a list that checks its filters without applying them lets
	// pass those on which the original dies as soon as it applies them.
	UnappliedFilters bool
	// TwoStreetLines: of an address with more than two street lines the second
	// text shown holds all lines but the first (Resources / Customer address).
	TwoStreetLines bool
	// PartialUpdates: an update takes any subset of the fields (Endpoints, rule
	// 3); otherwise the original's required fields must come along.
	PartialUpdates bool
	// EmptyValues: a field that is present but empty is refused by the message
	// of Errors / Stock items, in place of its own rules.
	EmptyValues bool
	// SuccessFirst: in a batch reply the success list stands first; otherwise
	// the list that received the first entry does.
	SuccessFirst bool
	// TextComparison: the stock rules compare texts that are no plain numbers as
	// the original does, byte by byte or by their leading number; otherwise by
	// the number that is stored (stock 2.3).
	TextComparison bool
	// CategoryView: the list of one category shows fields of its own, by position
	// in the category; otherwise it is an ordinary list (products 3.9).
	CategoryView bool
	// OrderedByNull: in lists the field they are ordered by is null, not missing,
	// where a record has none (products 3.1).
	OrderedByNull bool
	// PercentFlags: group and tier prices carry is_percent (products 3.4).
	PercentFlags bool
	// UnmanagedTrue: is_in_stock of a product whose stock is not managed is the
	// literal true; otherwise "1" (products 3.4).
	UnmanagedTrue bool
	// UnverifiableCrash: a signature method that is let in but cannot be
	// verified is a crash; otherwise the method is rejected (wire 12).
	UnverifiableCrash bool
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
	}
}

// Magento returns the dialect of what the original puts on the wire.
func Magento() *Dialect {
	return &Dialect{
		Name: "magento", Root: "magento_api", column: magento,
		ZeroLimitOneRow: true, UnappliedFilters: true, TextComparison: true, OrderedByNull: true, PercentFlags: true,
		UnmanagedTrue: true, UnverifiableCrash: true,
	}
}

// Dialects returns every dialect, the default one first.
func Dialects() []*Dialect { return []*Dialect{Documented(), Magento()} }
