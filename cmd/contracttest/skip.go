package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/portico-commerce/portico/config/strictyaml"
	"github.com/portico-commerce/portico/contracttests"
)

// A gap is a declaration that the implementation does not support certain cases.
type gap struct {
	Case   string // regular expression that matches IDs of results
	Reason string // why
	match  *regexp.Regexp
}

// A gapList is the content of a file for --skip.
type gapList []gap

// parseGaps parses a file for --skip. It returns an error for an entry without a reason,
// and for one that matches none of the cases, which may be misspelled or out of date.
func parseGaps(data []byte, cases []contracttests.Result) (gapList, error) {
	var gaps gapList
	d := strictyaml.Decoder{File: "entries", MayBeEmpty: true}
	d.Decode(data, &gaps)
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("not a list of {case: REGEX, reason: sentence}: %w", err)
	}
	var errs []error
	for i := range gaps {
		g := &gaps[i]
		var err error
		switch g.match, err = regexp.Compile(g.Case); {
		case g.Case == "" || strings.TrimSpace(g.Reason) == "":
			errs = append(errs, fmt.Errorf("entry %d (%q) needs both a case and a reason", i+1, g.Case))
		case err != nil:
			errs = append(errs, fmt.Errorf("entry %d: %w", i+1, err))
		case !g.matchesAny(cases):
			errs = append(errs, fmt.Errorf("entry %d: no case matches %q; \"contracttest list\" prints all cases", i+1, g.Case))
		}
	}
	return gaps, errors.Join(errs...)
}

// matchesAny reports whether the gap matches the ID of one of the cases.
func (g *gap) matchesAny(cases []contracttests.Result) bool {
	for i := range cases {
		if g.match.MatchString(cases[i].ID()) {
			return true
		}
	}
	return false
}

// reasonFor returns the reason of the first gap that matches the ID of a case, or "".
func (l gapList) reasonFor(id string) string {
	for i := range l {
		if l[i].match.MatchString(id) {
			return "declared gap: " + l[i].Reason
		}
	}
	return ""
}
