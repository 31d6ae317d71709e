package outbox

import (
	"github.com/portico-commerce/portico/adapter"
	"time"
)

// A Record identifies a changed record at a store view, or at the default scope, 0.
type Record struct {
	Resource adapter.Resource
	Key      adapter.Key
	StoreID  int64
}

// A Root is the record whose entries are delivered one after the other: a product or a
// customer with all of its parts.
type Root struct {
	Resource adapter.Resource
	Key      adapter.Key
}

// RootOf returns the root of a record, which is the record itself unless it is a part.
func RootOf(r adapter.Record) Root {
	if s := r.Schema; s.Root != "" {
		return Root{s.Root, adapter.Key(r.Get(s.RootAttribute).Int())}
	}
	return Root{r.Schema.Resource, r.Key()}
}

// An Entry holds the changes of a record that the other system has not received yet.
type Entry struct {
	ID int64 // ascends in the order in which records were first changed
	Record
	Root Root
	// Agreed names the attributes that have changed, with the [State] on which both systems
	// last agreed.
	Agreed map[string]string
	// Sent has the states that were sent since then without confirmation that the other system
	// has stored them. Sending means that a request is in progress.
	Sent    map[string][]string
	Sending bool
	// Held: the entry is not delivered, as the other system's interface has no form for it. It
	// only preserves the value here until the other system changes the attribute, too.
	Held bool
	// Removed: the record was deleted at its scope, and perhaps changed afterwards. Gone: it no
	// longer exists at all. Identity then holds the values that identify it in the other system.
	Removed, Gone bool
	Identity      adapter.JSONRecord
	// Version differs after each change of the entry by a client.
	Version int64
	// Reason is why the last attempt has failed, for people; "" before the first one.
	Reason string
	// Attempts counts the attempts that have failed because of the entry.
	Attempts int
	// Parked: the entry is a dead letter, refused by the other system. Other entries do not wait
	// for it.
	Parked bool
	// CreatedAt is when a client changed the record after both systems had last agreed.
	CreatedAt, NextRetry time.Time
}

// A Delivery is a request that was sent to the other system for an entry, and accepted there.
type Delivery struct {
	Entry Entry
	// Sent is the record with its parts as it was when the request was made, and Attributes are
	// the attributes in the request.
	Sent       adapter.Aggregate
	Attributes []string
	// Held are attributes of the entry for which the interface has no form.
	Held []string
}

// The longest times for which an entry waits for its next attempt. An entry that is to wait longer was
// stored before a clock was set back, and is due.
const (
	MaxWait       = 5 * time.Minute
	MaxParkedWait = time.Hour
)

// A Failure describes a failed attempt to deliver an entry.
type Failure struct {
	Reason string    // for people
	Retry  time.Time // within MaxWait, or MaxParkedWait
	Parked bool      // the other system refuses the entry
	// Unstored: the sent values have certainly not been stored.
	Unstored bool
	// Away: the other system answers nothing now, whatever the entry. The attempt does not count.
	Away bool
}

// A Create is a record that was to be created in the other system, with an outcome that is not
// known here yet.
type Create struct {
	ID       int64
	Resource adapter.Resource
	Root     Root // root of a part; the zero Root for a root
	// NaturalKey, such as a SKU, finds the record in the other system; "" if no value does.
	NaturalKey string
	// Reason is why the outcome is unknown, for people; "" if the reply may still come.
	Reason    string
	CreatedAt time.Time
}

// A Conflict is an attribute that both systems have changed since they last agreed.
type Conflict struct {
	Record
	Attribute string
	// Ours and Theirs are the values of the two systems, for people; "" for none.
	Ours, Theirs string
	// Outcome is the resolution of the conflict.
	Outcome ConflictOutcome
	At      time.Time
}

// A ConflictOutcome is the resolution of a conflict.
type ConflictOutcome string

const (
	// Kept: the client's value stays, and the other system gets it.
	Kept ConflictOutcome = "kept"
	// Added: the other system's difference was added, and it gets the sum.
	Added ConflictOutcome = "added"
	// Taken: the other system's value replaces the client's, which cannot be sent to it.
	Taken ConflictOutcome = "taken"
	// Dropped: the other system has deleted the record, so that the change is lost.
	Dropped ConflictOutcome = "dropped"
)

// ConflictOutcomes returns all outcomes.
func ConflictOutcomes() []ConflictOutcome { return []ConflictOutcome{Kept, Added, Taken, Dropped} }
