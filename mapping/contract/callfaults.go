package contract

import "slices"

// Faults returns the faults that a call of r with method m can be answered with in dialect
// d, in the order of the fault table. The entries of a batch reply come from [BatchFaults]
// or from these.
func (r *Route) Faults(d *Dialect, m Method) []FaultKey {
	keys := []FaultKey{NotAcceptable, Unauthorized, AccessDenied, AdminWithoutRole, InvalidVersion, RequestInvalid, r.Failed, Unavailable, TooManyRequests}
	if d.UnverifiableCrash {
		keys = append(keys, UnverifiableSignature)
	}
	for _, role := range Roles() {
		switch r.Access(d, role, m) {
		case NotImplemented:
			keys = append(keys, r.Unimplemented)
		case NotSupported, NotSupportedLate:
			keys = append(keys, MethodNotSupported)
		case DenyLate:
			keys = append(keys, UpdateNotSupportedForRole)
		}
	}
	if slices.ContainsFunc(r.parts, func(part string) bool { return part[0] == ':' }) {
		keys = append(keys, r.NotFound)
	}
	if r.reads("store") {
		keys = append(keys, StoreInvalid, StoreMisspelled)
	}
	switch m {
	case GET:
		keys = append(keys, r.readFaults(d)...)
	case POST, PUT:
		keys = append(keys, r.bodyFaults(d, m)...)
	}
	if m != PUT || r.Shape != Collection {
		keys = append(keys, callFaults()[r.Calls[m]]...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// BatchFaults returns the faults of the entries in the reply to a call on many records.
func (r *Route) BatchFaults(m Method) []FaultKey {
	if m == PUT && r.Shape == Collection || m == POST && r.CreatesLists {
		return callFaults()[r.Calls[m]]
	}
	return nil
}

// reads reports whether the calls of r read a parameter of the path or the query.
func (r *Route) reads(parameter string) bool {
	_, inPath := r.Param(parameter)
	return inPath || slices.Contains(r.Query, parameter)
}

func (r *Route) readFaults(d *Dialect) (keys []FaultKey) {
	if r.reads("category_id") && r.Shape == Collection {
		keys = append(keys, CategoryNotFound, CategoryListCrash)
	}
	if r.Shape == Collection && r.Modifiers != NoModifiers {
		keys = append(keys, PagingError, LimitError, OrderingError, FilteringError, PagingCrash, LimitCrash, OrderingCrash, FilteringCrash)
	}
	if !d.EmptySelections {
		keys = append(keys, SelectionCrash)
	}
	return keys
}

func (r *Route) bodyFaults(d *Dialect, m Method) []FaultKey {
	keys := []FaultKey{ContentTypeEmpty, ContentTypeInvalid, CharsetNotSupported, MediaTypeNotSupported, DecodingError, InvalidDataType,
		ScalarBody, ValueCrash, PreValidation}
	if d.RejectsNonScalars {
		keys = append(keys, ValueOfOtherKind)
	}
	if m == POST && r.Shape == Collection && !r.CreatesLists {
		keys = append(keys, r.Unimplemented)
	}
	return keys
}

// callFaults returns the faults that only some calls have.
func callFaults() map[string][]FaultKey {
	customer := between(CustomerValueRequired, PasswordTooShort)
	address := append(between(ValueTooShort, OptionUnknown), AddressValueRequired)
	address = append(address, between(CountryRequired, RegionUnknown)...)
	product := between(MissingValue, LayoutHelper)
	image := []FaultKey{ImageNotFound, ImageHidden}
	return map[string][]FaultKey{
		"createCustomer":        customer,
		"updateCustomer":        customer,
		"createCustomerAddress": address,
		"updateCustomerAddress": address,
		"deleteCustomerAddress": {AddressIsDefault},
		"createProduct":         product,
		"updateProduct":         product,
		"getProductImage":       image,
		"updateProductImage":    image,
		"deleteProductImage":    image,
		"createProductImage":    append(between(ImageMissing, ImageUnknownError), ImagesNotSupported),
		"createProductWebsites": append(append(between(WebsiteIDInvalid, WebsiteUnknown), WebsiteAssigned), between(CopyFromInvalid, CopyStoreMisspelled)...),
		"deleteProductWebsite":  {WebsiteNotFound, WebsiteUnassigned, PreValidation},
		"createProductCategory": between(CategoryIDInvalid, CategoryIsRoot),
		"deleteProductCategory": between(CategoryIDInvalid, CategoryIsRoot),
		"getProductCategory":    {CategoryUnknown, CategoryUnassigned},
		"updateStockItem":       between(EmptyValue, BrokenRule),
		"updateStockItems":      append(between(EmptyValue, ItemUnknown), InternalError),
	}
}

// between returns the keys of the fault table from first to last.
func between(first, last FaultKey) []FaultKey {
	keys := make([]FaultKey, 0, last-first+1)
	for key := first; key <= last; key++ {
		keys = append(keys, key)
	}
	return keys
}
