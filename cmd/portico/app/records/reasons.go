package records

import (
	"fmt"
	"github.com/portico-commerce/portico/adapter/replica"
	"strconv"
)

// maxReasons limits the number of reasons that are counted separately. All others are counted
// together.
const maxReasons = 1000

// A reason is a reason for which records of a resource are unreadable or one of their values is
// left out. It has the first record, and the number of records.
type reason struct {
	replica.Finding
	Records int `json:"records"`
}

// String returns the reason as one line. It quotes texts that come from the backend.
func (r *reason) String() string {
	return fmt.Sprintf("%-16s%s: %d, such as backend id %s: %s", r.Kind, r.Resource, r.Records, strconv.Quote(r.ID), strconv.Quote(r.Detail))
}

// reasons holds the reasons of all such records, in the order in which they were found.
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
