package replica

import (
	"fmt"
	"hash/maphash"
)

// maxListedIDs bounds the number of ids of a list that are compared with earlier ones. In a longer list, ids
// that are repeated later are not noticed unless the total differs.
const maxListedIDs = 4 << 20

// A Listing determines whether the pages of a list have all documents, each once. Where the order of the
// list has ties, such as a time that the products of one batch share, a backend may return one document on
// two pages, and another one on none.
type Listing struct {
	seed     maphash.Seed
	seen     map[uint64]struct{} // hashes of ids: eight bytes for each document
	most     int                 // the greatest length of seen
	listed   int
	repeated int
	total    int64 // total of the last page; -1 before
	greatest int64 // the greatest total
}

// NewListing returns an empty Listing, for a list that begins.
func NewListing() *Listing {
	return &Listing{seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}, most: maxListedIDs, total: -1, greatest: -1}
}

// Add counts the documents of a page.
func (l *Listing) Add(ids []string) {
	l.listed += len(ids)
	for _, id := range ids {
		hash := maphash.String(l.seed, id)
		if _, before := l.seen[hash]; before {
			l.repeated++
		} else if len(l.seen) < l.most {
			l.seen[hash] = struct{}{}
		}
	}
}

// SetTotal stores the number of all documents that a page names.
func (l *Listing) SetTotal(total int64) { l.total, l.greatest = total, max(l.greatest, total) }

// Total returns the number of all documents that the last page named, -1 if none has.
func (l *Listing) Total() int64 { return l.total }

// Err returns an [IncompleteListError] if documents may be missing from the list, which has ended.
func (l *Listing) Err() error {
	e := &IncompleteListError{Listed: l.listed, Distinct: l.listed - l.repeated, Total: l.total, Fell: l.total < l.greatest}
	if l.repeated == 0 && !e.Fell && (l.total < 0 || int64(e.Distinct) == l.total) {
		return nil
	}
	return e
}

// An IncompleteListError, in the chain of an error of kind Unavailable, means that a scan has passed on all
// documents that the backend listed, but that records may be missing among them. A record that is not listed
// may still exist.
type IncompleteListError struct {
	Listed   int   // documents, repeated ones included
	Distinct int   // documents with different ids
	Total    int64 // the last number of all documents that the backend named; -1 if it names none
	// Fell: the backend named a greater total before, so that pages by offset have moved.
	Fell bool
}

// Error returns the signs that records may be missing.
func (e *IncompleteListError) Error() string {
	text := fmt.Sprintf("%d records are listed", e.Listed)
	if e.Distinct < e.Listed {
		text += fmt.Sprintf(", %d of them twice", e.Listed-e.Distinct)
	}
	if e.Total >= 0 && int64(e.Distinct) != e.Total {
		text += fmt.Sprintf(", and the backend says that there are %d", e.Total)
	}
	if e.Fell {
		text += ", and records were deleted meanwhile, which moves the pages"
	}
	return text + ": others may be missing"
}
