package contracttests

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A Dialect is one of the two ways to serve the contract.
type Dialect string

const (
	Documented Dialect = "documented" // the contract document to the letter
	Magento    Dialect = "magento"    // what the original answers, as recorded
)

// rootOnly begins the reason of a case that differs in the documented dialect
// by nothing but the name of the XML root.
const rootOnly = "root element only"

// leavesOut reports whether the recording of c does not hold in d.
func (d Dialect) leavesOut(c *Case) bool {
	return d == Documented && c.Differs != "" && !strings.HasPrefix(c.Differs, rootOnly)
}

// recording returns the reply recorded for s as d answers it.
func (d Dialect) recording(s *Step) Response {
	want := s.Response
	if d == Documented {
		want.Body = strings.NewReplacer("<magento_api", "<service_api", "</magento_api", "</service_api").Replace(want.Body)
		if strings.HasPrefix(s.Path, stockItems) {
			want.Body = successFirst(&want)
		}
	}
	return want
}

// stockItems begins the paths whose batch replies the document orders. Elsewhere
// the list that got the first entry stands first (product_parts 3.4).
const stockItems = "/stockitems"

// successFirst returns the body of want with the success list of a batch reply
// before its error list, where the document has it (stock 2.4).
func successFirst(want *Response) string {
	if want.Status != http.StatusMultiStatus || want.ContentType == nil {
		return want.Body
	}
	f, known := formatOf(*want.ContentType)
	if !known {
		return want.Body
	}
	tree, err := f.parse(want.Body)
	if err != nil {
		return want.Body
	}
	reply := &tree
	if f.name == "XML" && len(tree.members) == 1 {
		reply = &tree.members[0].value
	}
	if m := reply.members; len(m) == 2 && m[0].name == "error" && m[1].name == "success" {
		m[0], m[1] = m[1], m[0]
	}
	return f.canonical(&tree)
}

// A Target is a running server and what the suite must know of it.
type Target struct {
	// BaseURL is http(s)://host[:port], what stands before /api/rest.
	BaseURL string
	// TLS is for an https BaseURL; nil trusts the system's certificates.
	TLS         *tls.Config
	Dialect     Dialect
	Credentials Credentials

	// Reset restores the seeded data set. It is called before a case that
	// writes or follows one that did. Nil: the cases run on what is there.
	Reset func(context.Context) error
	// Skip gives the reason why the target cannot do a step, or "". A case
	// with such a step is left out, and the reason logged. Nil: it can do all.
	Skip func(Case, Step) string
}

// A Summary counts what became of the cases.
type Summary struct {
	Passed  int // as recorded
	Failed  int // different, or not to be replayed
	LeftOut int // not replayed: another dialect, or with a step that Skip names
}

// Replay replays the cases one after the other, each in a subtest named
// file/name, and returns what became of them. A case that is left out gets no
// subtest, and is counted whatever -run filters. Of the others, those that -run
// filters out are in no count.
func Replay(t *testing.T, target Target, cases []Case) Summary {
	t.Helper()
	if target.Dialect != Documented && target.Dialect != Magento {
		t.Fatalf("contracttests: unknown dialect %q", target.Dialect)
	}
	srv, err := parseServer(target.BaseURL, target.TLS)
	if err != nil {
		t.Fatalf("contracttests: %v", err)
	}
	p := player{target: target, server: srv, dirty: true}
	var sum Summary
	for _, c := range cases {
		if target.Dialect.leavesOut(&c) {
			sum.LeftOut++
			continue
		}
		if reason := p.skipReason(&c); reason != "" {
			sum.LeftOut++
			t.Logf("%s/%s is left out: %s", c.File, c.Name, reason)
			continue
		}
		t.Run(c.File+"/"+c.Name, func(t *testing.T) {
			if err := p.play(t.Context(), &c); err != nil {
				sum.Failed++
				t.Errorf("%v", err)
				return
			}
			sum.Passed++
		})
	}
	return sum
}

// A player replays cases against one server and remembers whether the data set
// is still as seeded.
type player struct {
	target Target
	server server
	dirty  bool
}

func (p *player) skipReason(c *Case) string {
	if p.target.Skip == nil {
		return ""
	}
	for _, s := range c.Steps {
		if reason := p.target.Skip(*c, s); reason != "" {
			return reason
		}
	}
	return ""
}

// play replays one case. Its error is fit to be read and tells all steps that went
// wrong.
func (p *player) play(ctx context.Context, c *Case) error {
	writes := c.isWrite()
	resets := c.Reset == nil || *c.Reset
	if p.target.Reset != nil && resets && (writes || p.dirty) {
		if err := p.target.Reset(ctx); err != nil {
			return fmt.Errorf("resetting the data set: %w", err)
		}
	}
	p.dirty = writes
	var failures []error
	for i := range c.Steps {
		s := &c.Steps[i]
		r := newRequest(p.server, p.target.Credentials, s)
		got, err := p.server.send(ctx, &r)
		if err != nil {
			failures = append(failures, stepError(p.server, &r, i, fmt.Sprintf("  no reply: %v\n", err)))
			break // what the server has done is unknown
		}
		want := p.target.Dialect.recording(s)
		if p.target.Dialect == Documented && isCategoryList(s.Path) {
			want.Body = inOrderOf(&want, got)
		}
		if ds := compare(&want, got); len(ds) > 0 {
			failures = append(failures, stepError(p.server, &r, i, formatDifferences(ds)))
		}
	}
	if len(failures) > 0 {
		return fmt.Errorf("%s/%s\nclause: %s\n%w", c.File, c.Name, c.Clause, errors.Join(failures...))
	}
	return nil
}

// categoryList matches the path of a list of one category.
var categoryList = regexp.MustCompile(`^/products(/store/[^/?]+)?(/category/|\?(.*&)?category_id=)`)

// isCategoryList reports whether a path lists the products of one category. The
// document sorts them by position, the recordings by id.
func isCategoryList(path string) bool { return categoryList.MatchString(path) }

// inOrderOf returns the body of want with the entries of an object keyed by id
// in the order in which got has them.
func inOrderOf(want *Response, got *reply) string {
	wantTree, err := parseJSON(want.Body)
	if err != nil || !wantTree.isMap() {
		return want.Body
	}
	gotTree, err := parseJSON(got.body)
	if err != nil {
		return want.Body
	}
	place := func(name string) int {
		return slices.IndexFunc(gotTree.members, func(m member) bool { return m.name == name })
	}
	slices.SortStableFunc(wantTree.members, func(a, b member) int { return place(a.name) - place(b.name) })
	var b strings.Builder
	renderJSON(&b, &wantTree)
	return b.String()
}
