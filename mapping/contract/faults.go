package contract

import (
	"fmt"
	"strings"
)

// A Fault is one entry of an error reply: a code, which is the HTTP status
// unless other entries follow, and the text the client sees.
type Fault struct {
	Code    int
	Message string
	// Bare faults are answered outside the envelope: the message alone, as
	// text/html (wire 5 and 14).
	Bare bool
}

// Error returns the message, so that a handler may return a Fault as its error.
func (f Fault) Error() string { return f.Message }

// Faults is a refusal of several entries, in order of detection. The last one
// gives the HTTP status (wire 8).
type Faults []Fault

// Error returns the last message.
func (f Faults) Error() string { return f[len(f)-1].Message }

// A FaultKey names a row of the table of faults.
type FaultKey uint8

const (
	NotAcceptable FaultKey = iota
	Unauthorized
	APITypeNotSupported
	NoRoute
	InvalidMethod
	AccessDenied
	InvalidVersion
	MethodNotImplemented
	CategoryMethodNotImplemented
	MethodNotSupported
	UpdateNotSupportedForRole
	ContentTypeEmpty
	ContentTypeInvalid
	CharsetNotSupported
	MediaTypeNotSupported
	DecodingError
	InvalidDataType
	RequestInvalid
	ScalarBody
	PreValidation
	NotFound
	PagingError
	LimitError
	OrderingError
	FilteringError
	PagingCrash
	LimitCrash
	OrderingCrash
	FilteringCrash
	SelectionCrash
	StoreInvalid
	StoreMisspelt
	CategoryNotFound
	UnverifiableSignature
	InternalError
	Unavailable
	EmptyValue
	RequiredValue
	BrokenRule
	ItemIDInvalid
	ItemIDMissing
	ItemIDEmpty
	ItemIDInfinite
	ItemUnknown
	ItemUpdated
	ImageResourceNotFound
	ImageNotFound
	ImageHidden
	ProductNotFound
	faultCount
)

// crash is what a client of the original sees when the original dies.
var crash = Fault{Code: 500, Bare: true}

// faults holds the two dialects' entries of each key. Messages are formats:
// their verbs take the arguments of [Dialect.Fault].
var faults = [faultCount][columns]Fault{
	// wire 1 to 5: before any resource is looked at
	NotAcceptable:                both(Fault{Code: 500, Message: "Service temporary unavailable", Bare: true}),
	Unauthorized:                 both(Fault{Code: 401, Message: "%s"}),
	APITypeNotSupported:          both(Fault{Code: 400, Message: `API type "%s" is not supported`}),
	NoRoute:                      both(Fault{Code: 404, Message: "Request does not match any route."}),
	InvalidMethod:                both(Fault{Code: 400, Message: "Invalid request method"}),
	AccessDenied:                 both(Fault{Code: 403, Message: "Access denied"}),
	InvalidVersion:               both(Fault{Code: 400, Message: `Invalid version "%s" requested.`}),
	MethodNotImplemented:         both(Fault{Code: 405, Message: "Resource method not implemented yet."}),
	CategoryMethodNotImplemented: {documented: {Code: 405, Message: "Resource method not implemented yet"}, magento: {Code: 405, Message: "Resource method not implemented yet."}},
	MethodNotSupported:           both(Fault{Code: 405, Message: "Resource does not support method."}),
	UpdateNotSupportedForRole:    both(Fault{Code: 403, Message: "Resource does not support method."}),
	// wire 6: bodies
	ContentTypeEmpty:      both(Fault{Code: 400, Message: "Content-Type header is empty"}),
	ContentTypeInvalid:    both(Fault{Code: 400, Message: "Invalid Content-Type header"}),
	CharsetNotSupported:   both(Fault{Code: 400, Message: "UTF-8 is the only supported charset"}),
	MediaTypeNotSupported: both(Fault{Code: 400, Message: `Server can not understand Content-Type HTTP header media type "%s"`}),
	DecodingError:         both(Fault{Code: 400, Message: "Decoding error."}),
	InvalidDataType:       both(Fault{Code: 400, Message: "Invalid data type. Check Content-Type."}),
	RequestInvalid:        both(Fault{Code: 400, Message: "The request data is invalid."}),
	ScalarBody:            {documented: {Code: 400, Message: "The request data is invalid."}, magento: crash},
	PreValidation:         both(Fault{Code: 400, Message: "Resource data pre-validation error."}),
	NotFound:              both(Fault{Code: 404, Message: "Resource not found."}),
	// wire 10 and 14: list modifiers
	PagingError:    both(Fault{Code: 400, Message: "Resource collection paging error."}),
	LimitError:     both(Fault{Code: 400, Message: "The paging limit exceeds the allowed number."}),
	OrderingError:  both(Fault{Code: 400, Message: "Resource collection ordering error."}),
	FilteringError: both(Fault{Code: 400, Message: "Resource collection filtering error."}),
	PagingCrash:    {documented: {Code: 400, Message: "Resource collection paging error."}, magento: crash},
	LimitCrash:     {documented: {Code: 400, Message: "The paging limit exceeds the allowed number."}, magento: crash},
	OrderingCrash:  {documented: {Code: 400, Message: "Resource collection ordering error."}, magento: crash},
	FilteringCrash: {documented: {Code: 400, Message: "Resource collection filtering error."}, magento: crash},
	SelectionCrash: both(crash), // only without Dialect.EmptySelections
	// wire 2: store views; products 2
	StoreInvalid:     both(Fault{Code: 400, Message: "Requested store is invalid"}),
	StoreMisspelt:    {documented: {Code: 400, Message: "Requested store is invalid"}, magento: crash},
	CategoryNotFound: both(Fault{Code: 400, Message: "Category not found."}),
	// wire 12 and design: what is not the client's fault
	UnverifiableSignature: both(crash), // only with Dialect.UnverifiableCrash
	InternalError:         both(Fault{Code: 500, Message: "Resource internal error."}),
	Unavailable:           both(Fault{Code: 503, Message: "Resource internal error."}),
	// Errors / Stock items; stock 2.3 and 2.4
	EmptyValue:    both(Fault{Code: 400, Message: "Empty value for %s in request."}),
	RequiredValue: both(Fault{Code: 400, Message: "%s: Value is required and can't be empty"}),
	BrokenRule:    both(Fault{Code: 400, Message: "%s: %s"}),
	ItemIDInvalid: both(Fault{Code: 400, Message: `Invalid value for "item_id" in request.`}),
	ItemIDMissing: {documented: {Code: 400, Message: "Missing item_id in request."}, magento: {Code: 400, Message: `Invalid value for "item_id" in request.`}},
	ItemIDEmpty:   {documented: {Code: 400, Message: "Empty value for item_id in request."}, magento: {Code: 400, Message: `Invalid value for "item_id" in request.`}},
	// The original cannot write an infinite id into its JSON reply.
	ItemIDInfinite: {documented: {Code: 400, Message: `Invalid value for "item_id" in request.`}, magento: {Code: 207, Bare: true}},
	ItemUnknown:    {documented: {Code: 404, Message: "Resource not found."}, magento: {Code: 400, Message: "StockItem #%d not found."}},
	// Errors / Product images; product_parts 2.2
	ImageResourceNotFound: {documented: {Code: 404, Message: "Resource not found"}, magento: {Code: 404, Message: "Resource not found."}},
	ImageNotFound:         both(Fault{Code: 404, Message: "Product image not found"}),
	// The original tells nobody but a reading Admin which of the two is missing.
	ImageHidden: {documented: {Code: 404, Message: "Product image not found"}, magento: {Code: 404, Message: "Resource not found."}},
	// Errors / Product websites; product_parts 3.1
	ProductNotFound: {documented: {Code: 404, Message: "Product not found"}, magento: {Code: 404, Message: "Product #%s not found."}},
	// no fault, but the entry of a batch reply that stands beside them
	ItemUpdated: both(Fault{Code: 200, Message: "Resource updated successful."}),
}

func both(f Fault) [columns]Fault { return [columns]Fault{documented: f, magento: f} }

// Fault returns d's entry for key, with args put into its message where that
// dialect's text has a place for them.
func (d *Dialect) Fault(key FaultKey, args ...any) Fault {
	f := faults[key][d.column]
	if strings.Contains(f.Message, "%") {
		f.Message = fmt.Sprintf(f.Message, args...)
	}
	return f
}
