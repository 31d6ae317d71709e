package records

import (
	"fmt"
	"github.com/portico-commerce/portico/adapter/replica"
	"strconv"
)

// maxReasons limits how many reasons are counted separately. All others are counted together.
const maxReasons = 1000

// A reason is why records of a resource are unreadable, or why a value of theirs is left out: the first of them, and
// their number.
type reason struct {
	replica.Finding
	Records int `json:"records"`
}

// String returns the reason as one line. It quotes texts that come from the backend.
func (r *reason) String() string {
	return fmt.Sprintf("%-16s%s: %d, such as backend id %s: %s", r.Kind, r.Resource, r.Records, strconv.Quote(r.ID), strconv.Quote(r.Detail))
}

// reasons are those of all such records, in the order in which they were found.
type reasons struct {
	all  []*reason
	find map[replica.Finding]*reason // by kind, resource and detail
}

// add counts a record.
func (u *reasons) add(f replica.Finding) {
	key := replica.Finding{Kind: f.Kind, Resource: f.Resource, Detail: f.Detail}
	if len(u.all) >= maxReasons && u.find[key] == nil {
		f.Detail, key.Detail = "other reasons", "other reasons"
	}
	if u.find[key] == nil {
		r := &reason{Finding: f}
		u.all = append(u.all, r)
		if u.find == nil {
			u.find = map[replica.Finding]*reason{}
		}
		u.find[key] = r
	}
	u.find[key].Records++
}
