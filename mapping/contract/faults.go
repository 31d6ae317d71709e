package contract

import (
	"fmt"
	"net/http"
	"strings"
)

// A Fault is one entry of an error reply: a code and the message that the client sees.
// The code of the last entry is the HTTP status.
type Fault struct {
	Code    int
	Message string
	// Status500: the entry carries Code, but the HTTP status is 500, because the code of
	// the original's exception is not an HTTP status (wire 8).
	Status500 bool
	// Bare faults are sent without the error envelope: the message alone, as text/html
	// (wire 5 and 14).
	Bare bool

	reason string // see Reason
}

// Error returns the message. With it a handler can return a Fault as its error.
func (f Fault) Error() string { return f.Message }

// Reason returns the message without the values that it repeats from the request, for
// logs: an ellipsis stands in the place of each value. It is empty for faults that
// [Dialect.Fault] has not made.
func (f Fault) Reason() string { return f.reason }

// Because returns f with another Reason, which has more detail than the message of the contract.
func (f Fault) Because(reason string) Fault {
	f.reason = reason
	return f
}

// Status returns the HTTP status of a reply whose last entry is f.
func (f Fault) Status() int {
	if f.Status500 {
		return http.StatusInternalServerError
	}
	return f.Code
}

// Faults is an error reply with several entries, in order of detection. The last one
// determines the HTTP status (wire 8).
type Faults []Fault

// Error returns the last message.
func (f Faults) Error() string { return f[len(f)-1].Message }

// A FaultKey identifies a row of the fault table. The constants are in the order of the
// table, which holds their messages.
type FaultKey uint8

// The rows of the fault table. The rest of each name describes the client's action, or the
// fault of the value that it sent; a name that ends in Crash stands for a request that
// crashes the original.
const (
	NotAcceptable FaultKey = iota
	Unauthorized
	WebServiceUnknown
	APITypeNotSupported
	NoRoute
	InvalidMethod
	AccessDenied
	AdminWithoutRole
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
	ValueCrash
	ValueOfOtherKind
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
	StoreMisspelled
	CategoryNotFound
	CategoryListCrash
	UnverifiableSignature
	InternalError
	Unavailable
	TooManyRequests
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
	ImageMissing
	ImagePreValidation
	ImageBase64
	ImageMediaType
	ImageUnknownError
	ImageInternalError
	ImagesNotSupported
	ProductNotFound
	WebsiteIDInvalid
	WebsiteUnknown
	WebsiteNotFound
	WebsiteAssigned
	WebsiteUnassigned
	CopyFromInvalid
	CopyFromForeign
	CopyToInvalid
	CopyToForeign
	CopyStoreUnknown
	CopyStoreMisspelled
	CategoryIDInvalid
	CategoryUnknown
	CategoryAssigned
	CategoryUnassigned
	CategoryIsRoot
	MissingValue
	EmptyRequired
	ProductTypeInvalid
	AttributeSetInvalid
	SKUTooLong
	RequiredInSet
	InvalidInSet
	InvalidGroupInSet
	NumberInSet
	NumberFromZeroInSet
	NumberAboveZeroInSet
	NumbersOnlyInSet
	WeightOutOfRange
	NotApplicable
	OptionInvalid
	DateInvalid
	DateCrash
	NumberFromZero
	TypeNotCreatable
	SKUTaken
	GroupPriceTwice
	TierPriceTwice
	LayoutNotXML
	LayoutTemplate
	LayoutHelper
	CustomerValueRequired
	AddressValueRequired
	ValueTooShort
	ValueTooLong
	OptionType
	OptionUnknown
	EmailType
	EmailForm
	EmailLength
	EmailHost
	HostIsAddress
	HostStructure
	HostDomainUnknown
	HostDomainMissing
	HostDash
	HostSchema
	HostIsLocal
	HostIsNotLocal
	HostDashCrash
	EmailTaken
	EmailZero
	RecordUnsaved
	UpdateUnsaved
	DateForm
	DateFormat
	DateZero
	DateUnsaved // of a time of an attribute that the store added
	PasswordTooShort
	CountryRequired
	CountryType
	CountryNoText
	CountryLength
	CountryUnknown
	RegionRequired
	RegionEmpty
	RegionZero
	RegionZeroText
	RegionType
	RegionList
	RegionNoText
	RegionUnknown
	AddressIsDefault
	faultCount
)

// crash is the reply that a client sees when the original crashes.
var crash = Fault{Code: 500, Bare: true}

// faults holds the entry of each key in each dialect. Messages are format strings whose
// verbs take the arguments of [Dialect.Fault].
var faults = [faultCount]cells[Fault]{
	// wire 1 to 5: before the resource is known
	NotAcceptable:                both(Fault{Code: 500, Message: "Service temporary unavailable", Bare: true}),
	Unauthorized:                 both(Fault{Code: 401, Message: "%s"}),
	WebServiceUnknown:            both(Fault{Code: 200, Message: "Invalid webservice adapter specified.", Bare: true}), // only with Dialect.TypeParameter
	APITypeNotSupported:          both(Fault{Code: 400, Message: `API type "%s" is not supported`}),
	NoRoute:                      both(Fault{Code: 404, Message: "Request does not match any route."}),
	InvalidMethod:                both(Fault{Code: 400, Message: "Invalid request method"}),
	AccessDenied:                 both(Fault{Code: 403, Message: "Access denied"}),
	AdminWithoutRole:             both(Fault{Code: 0, Message: "Admin role not found", Status500: true}),
	InvalidVersion:               both(Fault{Code: 400, Message: `Invalid version "%s" requested.`}),
	MethodNotImplemented:         both(Fault{Code: 405, Message: "Resource method not implemented yet."}),
	CategoryMethodNotImplemented: {documented: Fault{Code: 405, Message: "Resource method not implemented yet"}, magento: Fault{Code: 405, Message: "Resource method not implemented yet."}},
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
	ScalarBody:            {documented: Fault{Code: 400, Message: "The request data is invalid."}, magento: crash},
	ValueCrash:            {documented: Fault{Code: 400, Message: "The request data is invalid."}, magento: crash},
	ValueOfOtherKind:      both(Fault{Code: 400, Message: `Invalid value for "%s" in request.`}), // only with Dialect.RejectsNonScalars
	PreValidation:         both(Fault{Code: 400, Message: "Resource data pre-validation error."}),
	NotFound:              both(Fault{Code: 404, Message: "Resource not found."}),
	// wire 10 and 14: list modifiers
	PagingError:    both(Fault{Code: 400, Message: "Resource collection paging error."}),
	LimitError:     both(Fault{Code: 400, Message: "The paging limit exceeds the allowed number."}),
	OrderingError:  both(Fault{Code: 400, Message: "Resource collection ordering error."}),
	FilteringError: both(Fault{Code: 400, Message: "Resource collection filtering error."}),
	PagingCrash:    {documented: Fault{Code: 400, Message: "Resource collection paging error."}, magento: crash},
	LimitCrash:     {documented: Fault{Code: 400, Message: "The paging limit exceeds the allowed number."}, magento: crash},
	OrderingCrash:  {documented: Fault{Code: 400, Message: "Resource collection ordering error."}, magento: crash},
	FilteringCrash: {documented: Fault{Code: 400, Message: "Resource collection filtering error."}, magento: crash},
	SelectionCrash: both(crash), // only without Dialect.EmptySelections
	// wire 2: store views; products 2
	StoreInvalid:      both(Fault{Code: 400, Message: "Requested store is invalid"}),
	StoreMisspelled:   {documented: Fault{Code: 400, Message: "Requested store is invalid"}, magento: crash},
	CategoryNotFound:  both(Fault{Code: 400, Message: "Category not found."}),
	CategoryListCrash: {documented: Fault{Code: 400, Message: "Category not found."}, magento: crash},
	// wire 12: failures that are not the client's fault
	UnverifiableSignature: both(crash), // only with Dialect.UnverifiableCrash
	InternalError:         both(Fault{Code: 500, Message: "Resource internal error."}),
	Unavailable:           both(Fault{Code: 503, Message: "Resource internal error."}),
	// Portico's own limit; the original has none
	TooManyRequests: both(Fault{Code: 429, Message: "Too many requests."}),
	// contract 8.4; stock_orders 2.3 and 2.4
	EmptyValue: both(Fault{Code: 400, Message: "Empty value for %s in request."}),
	RequiredValue: {documented: Fault{Code: 400, Message: "%s: Value is required and can't be empty"}, magento: Fault{Code: 400, Message: "%s: Value is required and can't be empty"},
		openmage: &Fault{Code: 400, Message: "%s: This value should not be blank."}},
	BrokenRule:    both(Fault{Code: 400, Message: "%s: %s"}),
	ItemIDInvalid: both(Fault{Code: 400, Message: `Invalid value for "item_id" in request.`}),
	ItemIDMissing: {documented: Fault{Code: 400, Message: "Missing item_id in request."}, magento: Fault{Code: 400, Message: `Invalid value for "item_id" in request.`}},
	ItemIDEmpty:   {documented: Fault{Code: 400, Message: "Empty value for item_id in request."}, magento: Fault{Code: 400, Message: `Invalid value for "item_id" in request.`}},
	// The original cannot write an infinite id into its JSON reply.
	ItemIDInfinite: {documented: Fault{Code: 400, Message: `Invalid value for "item_id" in request.`}, magento: Fault{Code: 207, Bare: true}},
	ItemUnknown:    {documented: Fault{Code: 404, Message: "Resource not found."}, magento: Fault{Code: 400, Message: "StockItem #%d not found."}},
	// contract 8.3; product_parts 2.2 and 2.4
	ImageResourceNotFound: {documented: Fault{Code: 404, Message: "Resource not found"}, magento: Fault{Code: 404, Message: "Resource not found."}},
	ImageNotFound:         both(Fault{Code: 404, Message: "Product image not found"}),
	// The original names the missing one of the two only to an Admin who reads.
	ImageHidden:        {documented: Fault{Code: 404, Message: "Product image not found"}, magento: Fault{Code: 404, Message: "Resource not found."}},
	ImageMissing:       both(Fault{Code: 400, Message: "The image is not specified"}),
	ImagePreValidation: {documented: Fault{Code: 400, Message: "Resource data pre-validator error"}, magento: Fault{Code: 400, Message: "Resource data pre-validation error."}},
	ImageBase64:        both(Fault{Code: 400, Message: "The image content must be valid base64 encoded data"}),
	ImageMediaType:     {documented: Fault{Code: 400, Message: "Unsupported image MIME type"}, magento: Fault{Code: 400, Message: "Unsuppoted image MIME type"}},
	ImageUnknownError:  {documented: Fault{Code: 400, Message: "Resource unknown error"}, magento: Fault{Code: 400, Message: "Resource unknown error."}},
	ImageInternalError: {documented: Fault{Code: 500, Message: "Resource internal error"}, magento: Fault{Code: 500, Message: "Resource internal error."}},
	ImagesNotSupported: {documented: Fault{Code: 400, Message: "Requested product does not support images"}, magento: Fault{Code: 400, Message: "Resource unknown error."}},
	// contract 8.5; product_parts 3.1, 3.3 and 3.6
	ProductNotFound:   {documented: Fault{Code: 404, Message: "Product not found"}, magento: Fault{Code: 404, Message: "Product #%s not found."}},
	WebsiteIDInvalid:  both(Fault{Code: 400, Message: `Invalid value for "website_id" in request.`}),
	WebsiteUnknown:    {documented: Fault{Code: 404, Message: "Website not found"}, magento: Fault{Code: 400, Message: "Website #%d not found."}},
	WebsiteNotFound:   {documented: Fault{Code: 404, Message: "Website not found"}, magento: Fault{Code: 404, Message: "Website #%s not found."}},
	WebsiteAssigned:   both(Fault{Code: 400, Message: "Product #%d is already assigned to website #%d"}),
	WebsiteUnassigned: {documented: Fault{Code: 400, Message: "Product %d isn't assigned to website %d."}, magento: Fault{Code: 400, Message: "Product #%d isn't assigned to website #%d"}},
	CopyFromInvalid:   {documented: Fault{Code: 400, Message: `Invalid value for "store_from" for the website with ID %d.`}, magento: Fault{Code: 400, Message: `Invalid value for "store_from" for the website with ID #%d.`}},
	CopyFromForeign: {documented: Fault{Code: 400, Message: "Store %d from which we will copy the information does not belong to the product %d being edited."},
		magento: Fault{Code: 400, Message: "Store #%d from which we will copy the information does not belong to the product #%d being edited."}},
	CopyToInvalid: {documented: Fault{Code: 400, Message: `Invalid value for "store_to" for the website with ID %d.`}, magento: Fault{Code: 400, Message: `Invalid value for "store_to" for the website with ID #%d.`}},
	CopyToForeign: {documented: Fault{Code: 400, Message: "Store %d to which we will copy the information does not belong to the website %d being added."},
		magento: Fault{Code: 400, Message: "Store #%d to which we will copy the information does not belong to the website #%d being added."}},
	CopyStoreUnknown:    {documented: Fault{Code: 400, Message: "Store not found %d for website %d."}, magento: Fault{Code: 400, Message: "Store not found #%d for website #%d."}},
	CopyStoreMisspelled: both(crash), // only with Dialect.PlainStoreIDs
	// contract 8.6; product_parts 4.3 and 4.4
	CategoryIDInvalid:  both(Fault{Code: 400, Message: `category_id: Please use numbers only in "category_id" field.`}),
	CategoryUnknown:    {documented: Fault{Code: 400, Message: "Category not found"}, magento: Fault{Code: 404, Message: "Category not found"}},
	CategoryAssigned:   {documented: Fault{Code: 400, Message: "Product %d is already assigned to category %d"}, magento: Fault{Code: 400, Message: "Product #%d is already assigned to category #%d"}},
	CategoryUnassigned: both(Fault{Code: 400, Message: "Product #%d isn't assigned to category #%d"}),
	CategoryIsRoot:     both(Fault{Code: 400, Message: "Cannot assign product to tree root category."}),
	// products 5.3: fields that are checked before a product is saved
	MissingValue:         both(Fault{Code: 400, Message: `Missing "%s" in request.`}),
	EmptyRequired:        both(Fault{Code: 400, Message: `Empty value for "%s" in request.`}),
	ProductTypeInvalid:   both(Fault{Code: 400, Message: "Invalid product type."}),
	AttributeSetInvalid:  both(Fault{Code: 400, Message: "Invalid attribute set."}),
	SKUTooLong:           both(Fault{Code: 400, Message: "SKU length should be %d characters maximum."}),
	RequiredInSet:        both(Fault{Code: 400, Message: `The "%s" value in the "%s" set is a required field.`}),
	InvalidInSet:         both(Fault{Code: 400, Message: `Invalid "%s" value in the "%s" set.`}),
	InvalidGroupInSet:    both(Fault{Code: 400, Message: `Invalid "%s" value in the "%s" set`}),
	NumberInSet:          both(Fault{Code: 400, Message: `Please enter a valid number in the "%s" field in the "%s" set.`}),
	NumberFromZeroInSet:  both(Fault{Code: 400, Message: `Please enter a number 0 or greater in the "%s" field in the "%s" set.`}),
	NumberAboveZeroInSet: both(Fault{Code: 400, Message: `Please enter a number greater than 0 in the "%s" field in the "%s" set.`}),
	NumbersOnlyInSet:     both(Fault{Code: 400, Message: `Please use numbers only in the "%s" field in the "%s" set. Please avoid spaces or other non numeric characters.`}),
	WeightOutOfRange:     both(Fault{Code: 400, Message: `The "weight" value is not within the specified range.`}),
	NotApplicable:        both(Fault{Code: 400, Message: `Attribute "%s" is not applicable for product type "%s"`}),
	OptionInvalid:        both(Fault{Code: 400, Message: `Invalid value "%s" for attribute "%s".`}),
	DateInvalid:          both(Fault{Code: 400, Message: `Invalid date in the "%s" field.`}),
	DateCrash:            {documented: Fault{Code: 400, Message: `Invalid date in the "%s" field.`}, magento: crash},
	NumberFromZero:       both(Fault{Code: 400, Message: `Please enter a number 0 or greater in the "%s" field.`}),
	TypeNotCreatable:     both(Fault{Code: 405, Message: "Creation of products with type '%s' is not implemented"}),
	// products 5.5: rejected while a product is saved
	SKUTaken:        both(Fault{Code: 400, Message: `Invalid attribute "sku": The value of attribute "SKU" must be unique`}),
	GroupPriceTwice: both(Fault{Code: 400, Message: `Invalid attribute "group_price": Duplicate website group price customer group.`}),
	TierPriceTwice:  both(Fault{Code: 400, Message: `Invalid attribute "tier_price": Duplicate website tier price customer group and quantity.`}),
	LayoutNotXML:    both(Fault{Code: 400, Message: `Invalid attribute "custom_layout_update": XML data is invalid.`}).inOpenMage(crash),
	LayoutTemplate:  both(Fault{Code: 400, Message: `Invalid attribute "custom_layout_update": Invalid template path used in layout update.`}).inOpenMage(crash),
	LayoutHelper:    both(Fault{Code: 400, Message: `Invalid attribute "custom_layout_update": Helper attributes should not be used in custom layout updates.`}),
	// contract 8.2; customers 4 to 7
	CustomerValueRequired: both(Fault{Code: 400, Message: `"%s" is a required value.`}),
	AddressValueRequired:  {documented: Fault{Code: 400, Message: "%s is a required value."}, magento: Fault{Code: 400, Message: `"%s" is a required value.`}},
	ValueTooShort:         both(Fault{Code: 400, Message: `"%s" length must be equal or greater than %d characters.`}),
	ValueTooLong:          both(Fault{Code: 400, Message: `"%s" length must be equal or less than %d characters.`}),
	OptionType:            both(Fault{Code: 400, Message: "Invalid value type for %s"}),
	OptionUnknown:         both(Fault{Code: 400, Message: `Invalid value "%s" for %s`}),
	EmailType:             both(Fault{Code: 400, Message: `"%s" invalid type entered.`}).inOpenMage(Fault{Code: 400, Message: `"%s" is not a valid email address.`}),
	EmailForm:             both(Fault{Code: 400, Message: `"%s" is not a valid email address.`}),
	EmailLength:           both(Fault{Code: 400, Message: `"%s" exceeds the allowed length.`}),
	EmailHost:             both(Fault{Code: 400, Message: `"%s" is not a valid hostname.`}),
	HostIsAddress:         both(Fault{Code: 400, Message: "'%s' appears to be an IP address, but IP addresses are not allowed"}),
	HostStructure:         both(Fault{Code: 400, Message: "'%s' does not match the expected structure for a DNS hostname"}),
	HostDomainUnknown:     both(Fault{Code: 400, Message: "'%s' appears to be a DNS hostname but cannot match TLD against known list"}),
	HostDomainMissing:     both(Fault{Code: 400, Message: "'%s' appears to be a DNS hostname but cannot extract TLD part"}),
	HostDash:              both(Fault{Code: 400, Message: "'%s' appears to be a DNS hostname but contains a dash in an invalid position"}),
	HostSchema:            both(Fault{Code: 400, Message: "'%s' appears to be a DNS hostname but cannot match against hostname schema for TLD '%s'"}),
	HostIsLocal:           both(Fault{Code: 400, Message: "'%s' appears to be a local network name but local network names are not allowed"}),
	HostIsNotLocal:        both(Fault{Code: 400, Message: "'%s' does not appear to be a valid local network name"}),
	HostDashCrash:         {documented: Fault{Code: 400, Message: "'%s' appears to be a DNS hostname but cannot match TLD against known list"}, magento: crash},
	EmailTaken:            {documented: Fault{Code: 400, Message: "This customer email already exists"}, magento: Fault{Code: 500, Message: "This customer email already exists"}},
	EmailZero:             {documented: Fault{Code: 400, Message: "Customer email is required"}, magento: Fault{Code: 500, Message: "Customer email is required"}},
	// The second error of the original, which continues without the record (wire 8);
	// only with Dialect.ContinuesAfterSaveError.
	RecordUnsaved:    both(Fault{Status500: true, Message: "id is not specified"}),
	UpdateUnsaved:    both(Fault{Code: 500, Message: "Unhandled simple errors."}),
	DateForm:         both(Fault{Code: 400, Message: `"%s" is not a valid date.`}),
	DateFormat:       both(Fault{Code: 400, Message: `"%s" does not fit the entered date format.`}).inOpenMage(Fault{Code: 400, Message: `"%s" is not a valid date.`}),
	DateUnsaved:      {documented: Fault{Code: 400, Message: `Invalid date in the "%s" field.`}, magento: Fault{Code: 500, Message: "Resource internal error."}},
	DateZero:         {documented: Fault{Code: 400, Message: "The request data is invalid."}, magento: Fault{Code: 500, Message: "Resource internal error."}},
	PasswordTooShort: both(Fault{Code: 400, Message: "The password must have at least %d characters. Leading or trailing spaces will be ignored."}),
	CountryRequired:  {documented: Fault{Code: 400, Message: "Country is required"}, magento: Fault{Code: 400, Message: `"%s" is a required value.`}},
	CountryType:      {documented: Fault{Code: 400, Message: "Invalid country identifier type"}, magento: Fault{Code: 400, Message: "Invalid value type for country_id"}},
	CountryNoText:    {documented: Fault{Code: 400, Message: "Invalid country identifier type"}, magento: Fault{Code: 400, Message: `Invalid value "%s" for country_id`}},
	CountryLength:    {documented: Fault{Code: 400, Message: "Country is not between '2' and '3' inclusively."}, magento: Fault{Code: 400, Message: `Invalid value "%s" for country_id`}},
	CountryUnknown:   {documented: Fault{Code: 400, Message: "Country does not exist"}, magento: Fault{Code: 400, Message: `Invalid value "%s" for country_id`}},
	RegionRequired:   {documented: Fault{Code: 400, Message: "State/Province is required"}, magento: Fault{Code: 400, Message: `"State/Province" is required.`}},
	RegionEmpty:      {documented: Fault{Code: 400, Message: "Invalid State/Province type"}, magento: Fault{Code: 400, Message: `"State/Province" is required.`}},
	RegionZero:       {documented: Fault{Code: 400, Message: "State/Province is invalid"}, magento: Fault{Code: 400, Message: `"State/Province" is required.`}},
	RegionZeroText:   {documented: Fault{Code: 400, Message: "State/Province does not exist"}, magento: Fault{Code: 400, Message: `"State/Province" is required.`}},
	RegionType:       {documented: Fault{Code: 400, Message: "Invalid State/Province type"}, magento: Fault{Code: 400, Message: `Invalid "State/Province" type.`}},
	RegionList:       perDialect(Fault{Code: 400, Message: "Invalid State/Province type"}, crash).inOpenMage(Fault{Code: 400, Message: `Invalid "State/Province" type.`}),
	RegionNoText:     {documented: Fault{Code: 400, Message: "State/Province is invalid"}, magento: Fault{Code: 400, Message: `Invalid "State/Province" type.`}},
	RegionUnknown:    {documented: Fault{Code: 400, Message: "State/Province does not exist"}, magento: Fault{Code: 400, Message: "State/Province does not exist."}},
	AddressIsDefault: both(Fault{Code: 400, Message: "Address is default for customer so is not allowed to be deleted"}),
	// not a fault, but the success entry of a batch reply
	ItemUpdated: both(Fault{Code: 200, Message: "Resource updated successful."}),
}

// Fault returns the dialect's entry for key. args fill the verbs of the message; a
// message without verbs ignores them.
func (d *Dialect) Fault(key FaultKey, args ...any) Fault {
	f := faults[key].of(d)
	f.reason = f.Message
	if strings.Contains(f.Message, "%") {
		f.reason = hideValues.Replace(f.Message)
		f.Message = fmt.Sprintf(f.Message, args...)
	}
	if f.Bare && f.Message == "" {
		f.reason = "a request that the original system does not survive"
	}
	return f
}

// Crash returns the dialect's entry for a value of a field that the original system does not survive.
func (d *Dialect) Crash(field string) Fault {
	return d.Fault(ValueCrash).Because("a value of " + field + " that the original system does not survive")
}

// hideValues replaces the verbs of messages.
var hideValues = strings.NewReplacer("%s", "…", "%d", "…")
