package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/contracttests"
)

// A gap is something the implementation is known not to do.
type gap struct {
	Case   string `yaml:"case"`   // regular expression of IDs of results
	Reason string `yaml:"reason"` // why
	match  *regexp.Regexp
}

// A gapList is what a file for --skip declares.
type gapList []gap

// parseGaps reads a file for --skip. An entry without a reason is refused, and so is
// one that names none of the cases: it may be misspelled, or out of date.
func parseGaps(data []byte, cases []contracttests.Result) (gapList, error) {
	var gaps gapList
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&gaps); err != nil && !errors.Is(err, io.EOF) {
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
			errs = append(errs, fmt.Errorf("entry %d: no case matches %q; \"contracttest list\" has them all", i+1, g.Case))
		}
	}
	return gaps, errors.Join(errs...)
}

func (g *gap) matchesAny(cases []contracttests.Result) bool {
	for i := range cases {
		if g.match.MatchString(cases[i].ID()) {
			return true
		}
	}
	return false
}

// reason returns why the case with an ID is not run, or "".
func (l gapList) reason(id string) string {
	for i := range l {
		if l[i].match.MatchString(id) {
			return "declared gap: " + l[i].Reason
		}
	}
	return ""
}
