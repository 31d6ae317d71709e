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
	"time"
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
func (d Dialect) leavesOut(c *Exchange) bool {
	return d == Documented && c.Differs != "" && !strings.HasPrefix(c.Differs, rootOnly)
}

// contradicts returns why a step was recorded without a mark, and yet does not hold
// in d, or "".
func (d Dialect) contradicts(c *Exchange, s *Step) string {
	if d != Documented || len(c.Clauses) > 0 { // the document's own hold there
		return ""
	}
	switch {
	case c.Name == "405: the other wording, and its 403 twin":
		// Recordings of the same calls in other files carry the mark.
		return "the document refuses updates of customers and category assignments otherwise"
	case c.Name == "manage_stock off":
		// The same answer in products.json carries the mark.
		return "the document writes is_in_stock as 0 or 1, never as a literal"
	case s.Method == http.MethodPost && strings.HasSuffix(s.Path, "/websites") && s.Response.Status == http.StatusOK && s.Response.Body == "":
		// Recordings of products that assign one on the way; those of assigning one
		// carry the mark.
		return "the document answers with a success list when a product is assigned to one website"
	}
	return ""
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
// before its error list, where the document has it (stock_orders 2.4).
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
	// BaseURL is http(s)://host[:port][/path], what stands before /api/rest.
	BaseURL string
	// TLS is for an https BaseURL; nil trusts the system's certificates.
	TLS         *tls.Config
	Dialect     Dialect
	Credentials Credentials
	// Fixtures are what the store holds; [Run] skips the cases that name what is
	// not there.
	Fixtures Fixtures
	// Complete says that the store holds all fixtures, so that a case which [Run]
	// cannot run is a failure.
	Complete bool

	// Timeout is for one request of [Replay], [ReplayAll] and [Record]. 0: a minute.
	Timeout time.Duration

	// Reset restores the seeded data set. It is called before a case that
	// writes or follows one that did. Nil: the cases run on what is there.
	Reset func(context.Context) error
	// Skip gives the reason why the target cannot do a step, or "". A case
	// with such a step is left out, and the reason logged. Nil: it can do all.
	Skip func(Exchange, Step) string
}

// A Summary counts what became of the exchanges.
type Summary struct {
	Passed  int // as recorded
	Failed  int // different, or not to be replayed
	LeftOut int // not replayed: another dialect, or with a step that Skip names
}

// Replay replays the exchanges one after the other, each in a subtest named
// file/name, and returns what became of them. One that is left out gets no
// subtest, and is counted whatever -run filters. Of the others, those that -run
// filters out are in no count.
func Replay(t *testing.T, target Target, exchanges []Exchange) Summary {
	t.Helper()
	p, err := newPlayer(target)
	if err != nil {
		t.Fatalf("contracttests: %v", err)
	}
	var sum Summary
	for i := range exchanges {
		c := &exchanges[i]
		if reason := p.skipReason(c); reason != "" {
			sum.LeftOut++
			t.Logf("%s/%s is left out: %s", c.File, c.Name, reason)
			continue
		}
		t.Run(c.File+"/"+c.Name, func(t *testing.T) {
			failures, _ := p.play(t.Context(), c)
			if len(failures) == 0 {
				sum.Passed++
				return
			}
			sum.Failed++
			var report strings.Builder
			for i := range failures {
				report.WriteString(failures[i].text())
			}
			t.Errorf("%s/%s\nclause: %s\n%s", c.File, c.Name, c.Clause, report.String())
		})
	}
	return sum
}

// ReplayAll replays the exchanges one after the other and returns what became of
// each, in their order, those that are left out included. done, unless it is nil, is
// called after each. It ends early when ctx ends or the server stops answering; the
// error says so, and the results up to there are returned with it.
func ReplayAll(ctx context.Context, target Target, exchanges []Exchange, done func(r *Result, done, total int)) ([]Result, error) {
	p, err := newPlayer(target)
	if err != nil {
		return nil, fmt.Errorf("contracttests: %w", err)
	}
	results := make([]Result, 0, len(exchanges))
	broken := 0
	for i := range exchanges {
		r := p.result(ctx, &exchanges[i])
		if err := ctx.Err(); err != nil {
			return results, err // what failed last may have failed for that
		}
		results = append(results, r)
		if done != nil {
			done(&r, i+1, len(exchanges))
		}
		switch {
		case r.Failure != nil && r.Failure.Broken != "":
			broken++
		case r.Status != Skipped:
			broken = 0
		}
		if broken == brokenCalls {
			return results, errors.New("the server stopped answering: " + r.Failure.Broken)
		}
	}
	return results, nil
}

// A player replays exchanges against one server and remembers whether the data set
// is still as seeded.
type player struct {
	target Target
	server server
	dirty  bool
}

func newPlayer(target Target) (*player, error) {
	if target.Dialect != Documented && target.Dialect != Magento {
		return nil, fmt.Errorf("unknown dialect %q", target.Dialect)
	}
	srv, err := parseServer(target.BaseURL, target.TLS)
	if err != nil {
		return nil, err
	}
	return &player{target: target, server: srv, dirty: true}, nil
}

// skipReason returns why c is left out, or "".
func (p *player) skipReason(c *Exchange) string {
	if p.target.Dialect.leavesOut(c) {
		return "recorded where this dialect answers otherwise: " + c.Differs
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if reason := p.target.Dialect.contradicts(c, s); reason != "" {
			return reason
		}
		if !p.target.Credentials.Has(s.As) {
			return "the credentials name no " + s.As
		}
		if target, whole := strings.CutPrefix(s.Path, "!"); whole && p.server.path != "" && isAbsolute(target) && !strings.HasPrefix(target, "{{base_url}}") {
			return "it was signed for a URL without a base path"
		}
		if p.target.Skip == nil {
			continue
		}
		if reason := p.target.Skip(*c, *s); reason != "" {
			return reason
		}
	}
	return ""
}

// result replays c, unless it is left out, and returns what became of it.
func (p *player) result(ctx context.Context, c *Exchange) Result {
	r := c.Result()
	if r.Reason = p.skipReason(c); r.Reason != "" {
		r.Status = Skipped
		return r
	}
	start := time.Now()
	failures, calls := p.play(ctx, c)
	r.Took, r.Status = time.Since(start), Passed
	if len(failures) > 0 {
		// Of what passed there is nothing to look up that the recording does not say.
		r.Calls, r.Status, r.Failure = calls, Failed, &failures[0]
	}
	return r
}

// reset restores the seeded data set where c has to start from it.
func (p *player) reset(ctx context.Context, c *Exchange) error {
	writes := c.isWrite()
	resets := c.Reset == nil || *c.Reset
	if p.target.Reset != nil && resets && (writes || p.dirty) {
		if err := p.target.Reset(ctx); err != nil {
			return fmt.Errorf("resetting the data set: %w", err)
		}
	}
	p.dirty = writes
	return nil
}

func (p *player) send(ctx context.Context, r *request) (*reply, error) {
	if p.target.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.target.Timeout)
		defer cancel()
	}
	return p.server.send(ctx, r)
}

// play replays one exchange and returns all steps that went wrong.
func (p *player) play(ctx context.Context, c *Exchange) (failures []Failure, calls []CallLog) {
	if err := p.reset(ctx, c); err != nil {
		return []Failure{{Clause: strings.Join(c.clauses(), "; "), Broken: err.Error()}}, nil
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		r := newRequest(p.server, p.target.Credentials, s)
		got, err := p.send(ctx, &r)
		calls = append(calls, p.target.Credentials.logCall(&r, s.As, got, err))
		want := p.target.Dialect.recording(s)
		want.Body = p.server.expected(want.Body)
		if want.Location != nil {
			want.Location = new(p.server.expected(*want.Location))
		}
		f := Failure{
			Step: i + 1, Call: fmt.Sprintf("%s: %s %s", s.As, s.Method, r.target), Curl: curl(p.server, &r),
			Clause: strings.Join(c.clauses(), "; "), Expect: want.text(),
		}
		if err != nil {
			f.Broken = "no answer: " + err.Error()
			return append(failures, f), calls // what the server has done is unknown
		}
		if p.target.Dialect == Documented && isCategoryList(s.Path) {
			want.Body = inOrderOf(&want, got, everyEntry)
		}
		if field := orderField(s.Path); field != "" {
			want.Body = inOrderOf(&want, got, equalIn(field))
		}
		if f.Differences = p.target.Credentials.redactAll(compare(&want, got)); len(f.Differences) > 0 {
			failures = append(failures, f)
		}
	}
	return failures, calls
}

// categoryList matches the path of a list of one category.
var categoryList = regexp.MustCompile(`^/products(/store/[^/?]+)?(/category/|\?(.*&)?category_id=)`)

// isCategoryList reports whether a path lists the products of one category. The
// document sorts them by position, the recordings by id.
func isCategoryList(path string) bool { return categoryList.MatchString(path) }

// orderParameter finds the field by which the list of a path is sorted.
var orderParameter = regexp.MustCompile(`[?&]order=([a-z_]+)`)

// orderField returns the field by which the list of a path is sorted, "" for none.
func orderField(path string) string {
	if found := orderParameter.FindStringSubmatch(path); found != nil {
		return found[1]
	}
	return ""
}

// everyEntry is for a list whose order is another than the recorded one.
func everyEntry(_, _ *node) bool { return true }

// equalIn is for a list sorted by a field: the order among equal values is open, and
// an entry that does not show the field may be equal to any other (wire 10).
func equalIn(field string) func(a, b *node) bool {
	return func(a, b *node) bool {
		x, shown := a.member(field)
		y, both := b.member(field)
		return !shown && !both || shown && both && x.kind == y.kind && x.text == y.text
	}
}

// inOrderOf returns the body of want, where entries of an object keyed by id follow each
// other that alike holds of, with these in the order in which got has them.
func inOrderOf(want *Response, got *reply, alike func(a, b *node) bool) string {
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
	for rest := wantTree.members; len(rest) > 0; {
		run := 1
		for run < len(rest) && alike(&rest[run-1].value, &rest[run].value) {
			run++
		}
		slices.SortStableFunc(rest[:run], func(a, b member) int { return place(a.name) - place(b.name) })
		rest = rest[run:]
	}
	var b strings.Builder
	renderJSON(&b, &wantTree)
	return b.String()
}
