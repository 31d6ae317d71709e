package adapter

import "context"

// An Adapter provides the stores of one backend.
type Adapter interface {
	// Name returns the adapter's name, as used in settings and metrics.
	Name() string
	// Store returns the store of r's records. Kinds: Unsupported.
	Store(r Resource) (Store, error)
	// Ping reports whether the backend can answer now. Kinds: Unavailable.
	Ping(context.Context) error
	// Close releases the adapter's resources. Its stores fail afterwards.
	Close() error
}

// A Store reads and writes the records of one resource. It is safe for concurrent use. A store that
// is only read returns Unsupported, without a field, from Create, Update and Delete: the contract answers
// these calls as methods that are not implemented. In addition to the kinds named at each method, every method may return Unavailable,
// Internal, or the error of its context.
type Store interface {
	// List returns the records that a query selects. Kinds: Unsupported.
	List(context.Context, *ListParams) (*ListResult, error)
	// Get returns one record. Kinds: NotFound, Unsupported.
	Get(context.Context, *GetParams) (Record, error)
	// Create stores a new record and returns its key. Kinds: Conflict, Invalid,
	// Unsupported.
	Create(context.Context, *CreateParams) (Key, error)
	// Update changes one record. Kinds: NotFound, Conflict, Invalid, Unsupported.
	Update(context.Context, *UpdateParams) error
	// Delete deletes one record and everything that belongs to it. Kinds: NotFound,
	// Conflict, Invalid, Unsupported.
	Delete(context.Context, *DeleteParams) error
}

// ListParams are the parameters of a list.
type ListParams struct {
	Query Query
	// OwnerID, unless 0, restricts the list to the records of one customer, also with
	// [ListResult.Partial]. Kinds: Unsupported for resources that customers do not own.
	OwnerID int64
	// StoreID is the store view whose values are read; 0 is the default scope, from which a
	// store view inherits the values that it does not have. A null stored at the store view
	// is a value. Every attribute that is not [Attribute.Static] may have values there,
	// whatever its scope, even a price. StoreID is ignored for resources whose records have
	// no scoped values.
	StoreID int64
	// WebsiteScope reads from the store view only the attributes of [ScopeWebsite] that the
	// contract has. Other attributes are read from the default scope, as in the lists that
	// shoppers see (own_attributes 1).
	WebsiteScope bool
	// OverridesOnly reads from the store view only values that replace a value of the default
	// scope, null included. Values that only the store view has are absent; but an added attribute
	// that the query compares is read from there in any case, or not at all if it is of
	// [ScopeGlobal] (own_attributes 5 and 6). See [ListParams.Reads].
	OverridesOnly bool
	// Filters restrict the list further, also with [ListResult.Partial]; all of them must
	// hold. Kinds: Unsupported for filters that the resource does not have.
	Filters []Filter
	// Count returns [ListResult.Total] instead of records.
	Count bool
	// With names on-demand attributes that the records must hold.
	With []string
	// Only, unless nil, names the other attributes that the records must hold, besides the key and
	// the attributes in Query. A store may leave the rest absent, and should, as reading them costs
	// time.
	Only []string
	// Buyer, unless nil, is the only one for whom the lists of prices matter. A store may leave out the prices
	// for others, and should: a shop may have a price for each group, website and day.
	Buyer *Buyer
	// MaxBytes, unless 0, lets a store end the list early, with [ListResult.More], after
	// the record with which the [Record.Size] of all records reaches this sum. A store that
	// returns Partial ignores it.
	MaxBytes int64
}

// A Buyer is a customer group at a website. Group and tier prices with the website 0 or the group [AllGroupsID] are for
// the buyer, too; prices of rules are for one group at one website.
type Buyer struct{ Group, WebsiteID int64 }

// AllGroupsID is the customer group of prices that apply to all customers.
const AllGroupsID = 32000

// A LevelReading says which values of an attribute a list reads from its store view.
type LevelReading uint8

const (
	ReadsNone      LevelReading = iota // none: the list shows the default scope
	ReadsOverrides                     // the values that replace a value of the default scope
	ReadsAny                           // all values
)

// Reads returns which values of an attribute that is not Static p, a list at a store view, shows and
// compares. Where p sorts by the places of options, that is the value of the store view whatever the
// scope of the attribute (own_attributes 5).
func (p *ListParams) Reads(a *Attribute) LevelReading {
	switch {
	case p.WebsiteScope && (a.Scope != ScopeWebsite || a.Added):
		return ReadsNone
	case !p.OverridesOnly, p.Query.OrderBy == a.Name && p.Query.Ranks != nil:
		return ReadsAny
	case !a.Added || !p.Query.Names(a.Name):
		return ReadsOverrides
	case a.Scope == ScopeGlobal:
		return ReadsNone
	default:
		return ReadsAny
	}
}

// A ListResult is the result of a list.
type ListResult struct {
	Records []Record
	// Total is the number of records that the conditions select, on all pages. It is set
	// only if ListParams.Count is, and never with Partial.
	Total int64
	// Partial: the store could not execute the whole query. Records then holds every record
	// that [Apply] may select, in any order, and possibly others.
	Partial bool
	// More: the list ended early because of ListParams.MaxBytes. It holds at least one
	// record; a query for the records after the last one continues it.
	More bool
}

// GetParams are the parameters of reading one record.
type GetParams struct {
	Key Key
	// OwnerID, unless 0, makes the records of other customers not found.
	OwnerID int64
	// StoreID and WebsiteScope are as in [ListParams].
	StoreID      int64
	WebsiteScope bool
	// Filters make a record not found that they would exclude from a list.
	Filters []Filter
	// With names on-demand attributes that the record must hold, and Only, unless nil, the
	// other ones, as in [ListParams].
	With, Only []string
	// Buyer is as in [ListParams].
	Buyer *Buyer
}

// CreateParams are the parameters of creating a record. Attributes that the store sets
// itself are absent from Record. Check, if set, runs inside the transaction before anything
// is written: the store calls it with [CreateParams.RunCheck].
type CreateParams struct {
	Record Record
	// StoreID is the store view of Record's scoped values; 0 is the default scope.
	StoreID int64
	// Unique names attributes whose values, taken together, no other record may have, besides
	// [Schema.Unique]. Only this write is held to it: records may share such values already. Kinds:
	// Conflict, with the last name in [Error.Field].
	Unique []string
	Check  func() error
	// Locked are called after Check.
	Locked []Observer
}

// UpdateParams are the parameters of changing a record. Change gets the current record,
// which stays locked until the write is done, and returns the new values; absent ones stay
// unchanged. Change must be pure, as it may run again after a conflict. The store calls it
// with [UpdateParams.RunChange], and writes nothing if that fails.
type UpdateParams struct {
	Key Key
	// OwnerID, unless 0, makes the records of other customers not found.
	OwnerID int64
	// StoreID is the store view whose scoped values Change gets and returns; each value is
	// stored at the scope of its attribute. 0 is the default scope.
	StoreID int64
	// Everywhere, for a product at the default scope, applies the change at all store views:
	// no store view keeps a value of its own for an attribute that Change sets.
	Everywhere bool
	// With names on-demand attributes that the current record must hold.
	With []string
	// Unique is as in [CreateParams], for the record with its new values. It holds even if the write
	// changes none of them.
	Unique []string
	Change func(current Record) (Record, error)
	// Locked are called after Change.
	Locked []Observer
}

// DeleteParams are the parameters of deleting a record. Check, if set, gets the locked
// current record first, under the rules of UpdateParams.Change: the store calls it with
// [DeleteParams.RunCheck].
type DeleteParams struct {
	Key Key
	// OwnerID is as in [UpdateParams].
	OwnerID int64
	// StoreID is the scope from which a record of a resource with [Schema.PerLevel] is
	// deleted: a store view, or 0 for the default scope. Records of other resources are
	// deleted as a whole.
	StoreID int64
	// Everywhere deletes a record of a resource with [Schema.PerLevel] even if other scopes
	// use it.
	Everywhere bool
	Check      func(current Record) error
	// Locked are called after Check.
	Locked []Observer
	// Last, if set, is called before such a record itself is deleted, but not if it is only
	// removed from the scope. The store calls it with [DeleteParams.RunLast].
	Last func() error
}
