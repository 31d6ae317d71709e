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

// A Dialect is one of the variants of the contract.
type Dialect string

const (
	Documented Dialect = "documented" // as the contract document says
	Magento    Dialect = "magento"    // as the original was recorded
	OpenMage   Dialect = "openmage"   // as OpenMage 20, a later version of the original, was recorded
)

// Dialects returns all dialects, the default one first.
func Dialects() []Dialect { return []Dialect{Documented, Magento, OpenMage} }

// Check returns an error that names the dialects if d is none of them.
func (d Dialect) Check() error {
	if !slices.Contains(Dialects(), d) {
		return fmt.Errorf("unknown dialect %q: must be %s, %s or %s", d, Documented, Magento, OpenMage)
	}
	return nil
}

// runs reports whether a case of the given dialect runs in d: "" stands for all, and OpenMage also has
// the cases of Magento.
func (d Dialect) runs(of Dialect) bool {
	return of == "" || of == d || of == Magento && d == OpenMage
}

// rootOnlyPrefix is the prefix of Exchange.Differs if the documented dialect differs only
// in the name of the XML root element. Such a recording can be adapted and replayed.
const rootOnlyPrefix = "root element only"

// excludes reports whether the recording does not hold in d, and cannot be adapted to it
// either.
func (d Dialect) excludes(e *Exchange) bool {
	return d == Documented && e.Differs != "" && !strings.HasPrefix(e.Differs, rootOnlyPrefix)
}

// contradiction returns the reason why the recording of a step does not hold in d although
// its exchange is not marked with Differs, or "" if it holds.
func (d Dialect) contradiction(c *Exchange, s *Step) string {
	if d == OpenMage && c.Name == "images: valid base64 that is not an image" {
		return "OpenMage 20 accepts bytes that are no image"
	}
	if d != Documented || len(c.Clauses) > 0 { // exchanges of the document's clauses hold there
		return ""
	}
	switch {
	case c.Name == "405: the other wording, and its 403 twin":
		// Recordings of the same requests in other files are marked.
		return "the document has other errors for updates of customers and of category assignments"
	case c.Name == "manage_stock off":
		// The recording of the same reply in products.json is marked.
		return "the document writes is_in_stock as 0 or 1, never as a literal"
	case s.Method == http.MethodPost && strings.HasSuffix(s.Path, "/websites") && s.Response.Status == http.StatusOK && s.Response.Body == "":
		// This step prepares a recording of products. Recordings of the assignment
		// itself are marked.
		return "the document replies with a success list when a product is assigned to one website"
	}
	return ""
}

// expectedResponse returns the recorded response of s, adapted to d.
func (d Dialect) expectedResponse(s *Step) Response {
	want := s.Response
	if d == Documented {
		want.Body = strings.NewReplacer("<magento_api", "<service_api", "</magento_api", "</service_api").Replace(want.Body)
		if strings.HasPrefix(s.Path, stockItemsPath) {
			want.Body = bodyWithSuccessFirst(&want)
		}
	}
	return want
}

// stockItemsPath is the prefix of the paths whose batch replies have their lists in a
// fixed order in the document. Elsewhere the list that got the first entry comes first
// (product_parts 3.4).
const stockItemsPath = "/stockitems"

// bodyWithSuccessFirst returns the body of want. In a batch reply it moves the success
// list in front of the error list, as the document has them (stock_orders 2.4).
func bodyWithSuccessFirst(want *Response) string {
	if want.Status != http.StatusMultiStatus || want.ContentType == nil {
		return want.Body
	}
	f, known := formatOfMediaType(*want.ContentType)
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

// A Target describes a running server to the suite.
type Target struct {
	// BaseURL is http(s)://host[:port][/path], the part of the URL before /api/rest.
	BaseURL string
	// TLS configures connections to an https BaseURL. Nil trusts the certificate
	// authorities of the operating system.
	TLS         *tls.Config
	Dialect     Dialect
	Credentials Credentials
	// NumericIntegers: in JSON, the server shows integer columns as numbers, where the cases and the
	// recordings have texts (configurations 10). It cannot be combined with [Documented].
	NumericIntegers bool
	// SignCommand is a shell command that prints the headers that authenticate a request,
	// when --as CALLER, perhaps --form BODY, the method and the URL follow it. Failures
	// repeat requests with it. If it is empty, they contain shell variables in place of the
	// credentials.
	SignCommand string
	// Fixtures are the objects of the store that cases may use. [Run] skips the cases that
	// need others.
	Fixtures Fixtures
	// Complete is true if the store has all fixtures. Then [Run] reports a case that it
	// cannot run as a failure.
	Complete bool

	// Timeout is the time for one request of [Replay], [ReplayAll] and [Record]; 0 means
	// one minute.
	Timeout time.Duration

	// Reset restores the seeded data set. It is called before the first exchange, and before one that follows
	// a write. If it is nil, exchanges run on the present data.
	Reset func(context.Context) error
	// Accept returns the reason why a difference of the reply to a request does not count, or "".
	// The path is the one below /api/rest, with the query. Nil accepts none. Whatever it accepts,
	// the original may answer creates with the statuses of living shops.
	Accept func(method, path string, d Difference) string
	// Skip returns the reason why the target does not support a step, or "". An exchange
	// with such a step is left out with the reason. Nil means that all are supported.
	Skip func(Exchange, Step) string
}

// checkIntegers returns an error if the dialect has no integers as numbers.
func (t *Target) checkIntegers() error {
	if t.NumericIntegers && t.Dialect == Documented {
		return errors.New("integers are texts in the dialect " + string(Documented))
	}
	return nil
}

// A Summary counts the exchanges of a replay by outcome.
type Summary struct {
	Passed  int // all replies were as recorded
	Failed  int // a reply differed, or there was none
	LeftOut int // not replayed, for a reason such as the dialect or Target.Skip
}

// Replay replays the exchanges one after the other, each in a subtest named file/name,
// and returns the counts. An exchange that is left out has no subtest and is always
// counted. Other exchanges are counted only if the flag -run selects their subtest.
func Replay(t *testing.T, target Target, exchanges []Exchange) Summary {
	t.Helper()
	p, err := newSession(target)
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
			failures, _ := p.replay(t.Context(), c, &Result{})
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

// ReplayAll replays the exchanges one after the other and returns one result for each, in
// their order. Exchanges that are left out have status Skipped. It calls done, if not
// nil, after each exchange. If ctx is canceled or the server stops replying, ReplayAll
// returns an error together with the results so far.
func ReplayAll(ctx context.Context, target Target, exchanges []Exchange, done func(r *Result, done, total int)) ([]Result, error) {
	p, err := newSession(target)
	if err != nil {
		return nil, fmt.Errorf("contracttests: %w", err)
	}
	results := make([]Result, 0, len(exchanges))
	broken := 0
	for i := range exchanges {
		r := p.replayResult(ctx, &exchanges[i])
		if err := ctx.Err(); err != nil {
			return results, err // the last failure may be due to the cancellation
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
		if broken == maxUnanswered {
			return results, errors.New("the server stopped answering: " + r.Failure.Broken)
		}
	}
	return results, nil
}

// A session sends the requests of exchanges to one target. It remembers whether the
// target still has the seeded data set. It is not safe for concurrent use, except for
// send and the probes.
type session struct {
	target Target
	server server
	dirty  bool // the data set may have changed since the last reset
}

// newSession returns a session. The data set counts as changed until the first reset.
func newSession(target Target) (*session, error) {
	if err := target.Dialect.Check(); err != nil {
		return nil, err
	}
	if err := target.checkIntegers(); err != nil {
		return nil, err
	}
	srv, err := parseServer(target.BaseURL, target.TLS)
	if err != nil {
		return nil, err
	}
	return &session{target: target, server: srv, dirty: true}, nil
}

// skipReason returns the reason why an exchange is left out, or "".
func (p *session) skipReason(c *Exchange) string {
	if p.target.Dialect.excludes(c) {
		return "the recording does not hold in this dialect: " + c.Differs
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if reason := p.target.Dialect.contradiction(c, s); reason != "" {
			return reason
		}
		if !p.target.Credentials.Has(s.As) {
			return "there are no credentials for " + s.As
		}
		if path, whole := strings.CutPrefix(s.Path, "!"); whole && p.server.path != "" && isAbsolute(path) && !strings.HasPrefix(path, "{{base_url}}") {
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

// replayResult replays an exchange unless it is left out, and returns its result.
func (p *session) replayResult(ctx context.Context, c *Exchange) Result {
	r := c.Result()
	if r.Reason = p.skipReason(c); r.Reason != "" {
		r.Status = Skipped
		return r
	}
	start := time.Now()
	failures, calls := p.replay(ctx, c, &r)
	r.Took, r.Status = time.Since(start), Passed
	if len(failures) > 0 {
		// The calls of a passed exchange are omitted, because they equal the recording.
		r.Calls, r.Status, r.Failure = calls, Failed, &failures[0]
	}
	return r
}

// resetIfNeeded restores the seeded data set if the exchange starts from it, and something may have been written
// since.
func (p *session) resetIfNeeded(ctx context.Context, c *Exchange) error {
	if p.target.Reset != nil && p.dirty && (c.Reset == nil || *c.Reset) {
		if err := p.target.Reset(ctx); err != nil {
			return fmt.Errorf("resetting the data set: %w", err)
		}
		p.dirty = false
	}
	p.dirty = p.dirty || c.isWrite()
	return nil
}

// send makes a request within Target.Timeout.
func (p *session) send(ctx context.Context, r *request) (*reply, error) {
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	return p.server.roundTrip(ctx, r)
}

// withTimeout returns ctx with Target.Timeout, if there is one.
func (p *session) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.target.Timeout > 0 {
		return context.WithTimeout(ctx, p.target.Timeout)
	}
	return ctx, func() {}
}

// replay replays one exchange. It returns a failure for each step whose reply is not as
// recorded, and the log of all requests, and adds the accepted differences to result. It stops at
// the first request without a reply, because the state of the server is then unknown.
func (p *session) replay(ctx context.Context, c *Exchange, result *Result) (failures []Failure, calls []CallLog) {
	if err := p.resetIfNeeded(ctx, c); err != nil {
		return []Failure{{Clause: strings.Join(c.clauseNames(), "; "), Broken: err.Error()}}, nil
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		r := newRequest(p.server, p.target.Credentials, s)
		start := time.Now()
		got, err := p.send(ctx, &r)
		calls = append(calls, p.target.newCallLog(&r, s.As, got, err, start, time.Since(start)))
		want := p.target.Dialect.expectedResponse(s)
		want.Body = p.server.withBasePath(want.Body)
		if want.Location != nil {
			want.Location = new(p.server.withBasePath(*want.Location))
		}
		f := Failure{
			Step: i + 1, Call: fmt.Sprintf("%s: %s %s", s.As, s.Method, r.target), Curl: p.target.repeatCommand(p.server, &r),
			Clause: strings.Join(c.clauseNames(), "; "), Expect: want.text(),
		}
		if err != nil {
			f.Broken = "no answer: " + err.Error()
			return append(failures, f), calls // the state of the server is unknown
		}
		if p.target.Dialect == Documented && isCategoryList(s.Path) {
			want.Body = reorderLike(&want, got, anyOrder)
		}
		if field := sortField(s.Path); field != "" {
			want.Body = reorderLike(&want, got, sameValueOf(field))
		}
		var accepted []AcceptedDifference
		f.Differences, accepted = p.target.accept(s, got, p.target.Credentials.redactDifferences(compareReply(&want, got, p.target.NumericIntegers)))
		result.Accepted = append(result.Accepted, accepted...)
		if len(f.Differences) > 0 {
			failures = append(failures, f)
		}
	}
	return failures, calls
}

// categoryListPattern matches the path of a product list of one category.
var categoryListPattern = regexp.MustCompile(`^/products(/store/[^/?]+)?(/category/|\?(.*&)?category_id=)`)

// isCategoryList reports whether a path lists the products of one category. The document
// sorts them by position, the recordings by id.
func isCategoryList(path string) bool { return categoryListPattern.MatchString(path) }

// orderPattern matches the query parameter that sorts a list.
var orderPattern = regexp.MustCompile(`[?&]order=([a-z_]+)`)

// sortField returns the field by which the list at a path is sorted, or "".
func sortField(path string) string {
	if found := orderPattern.FindStringSubmatch(path); found != nil {
		return found[1]
	}
	return ""
}

// anyOrder is an argument of reorderLike for a list whose order is different from the
// recorded one.
func anyOrder(_, _ *node) bool { return true }

// sameValueOf returns an argument of reorderLike for a list that is sorted by a field. The
// order of records with equal values is undefined; so is the order of records that do not
// show the field (wire 10).
func sameValueOf(field string) func(a, b *node) bool {
	return func(a, b *node) bool {
		x, shown := a.member(field)
		y, both := b.member(field)
		return !shown && !both || shown && both && x.kind == y.kind && x.text == y.text
	}
}

// reorderLike returns the body of want, a list that is keyed by id, in the order of got
// as far as the order is undefined: adjacent entries for which unordered is true may
// change places.
func reorderLike(want *Response, got *reply, unordered func(a, b *node) bool) string {
	wantTree, err := parseJSON(want.Body)
	if err != nil || !wantTree.isOrdered() {
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
		for run < len(rest) && unordered(&rest[run-1].value, &rest[run].value) {
			run++
		}
		slices.SortStableFunc(rest[:run], func(a, b member) int { return place(a.name) - place(b.name) })
		rest = rest[run:]
	}
	var b strings.Builder
	renderJSON(&b, &wantTree)
	return b.String()
}
