package contracttests

import (
	"net/http"
	"strconv"
	"strings"
)

// An AcceptedDifference is a difference that does not make a case fail, for a reason.
type AcceptedDifference struct {
	Difference

	Reason string `json:"reason"`
}

// accept divides the differences of the reply to a step into those that count, and those that are
// accepted for a reason: by Target.Accept, or because living shops answer so.
func (t *Target) accept(s *Step, got *reply, all []Difference) (open []Difference, accepted []AcceptedDifference) {
	for _, d := range all {
		reason := t.livingShop(s, got, &d)
		if reason == "" && t.Accept != nil {
			reason = t.Accept(s.Method, s.Path, d)
		}
		if reason == "" {
			open = append(open, d)
		} else {
			accepted = append(accepted, AcceptedDifference{d, reason})
		}
	}
	return open, accepted
}

// livingShop returns the reason why an original that is in use may answer a create with another
// status than the recorded one, or "".
func (t *Target) livingShop(s *Step, got *reply, d *Difference) string {
	if t.Dialect == Documented || s.Method != http.MethodPost || d.Where != "status" || d.Want != strconv.Itoa(http.StatusOK) || createdID(got) == "" {
		return ""
	}
	switch got.status {
	case http.StatusFound:
		return "behind FastCGI, the web server of a shop answers a create with 302"
	case http.StatusCreated:
		return "the newest line of the original answers a create with 201"
	}
	return ""
}

// createdID returns the id at the end of the Location of a reply, or "".
func createdID(got *reply) string {
	location := got.header.Get("Location")
	if id := location[strings.LastIndexByte(location, '/')+1:]; isDigits(id) {
		return id
	}
	return ""
}
