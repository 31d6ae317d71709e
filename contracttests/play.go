package contracttests

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shownCall bounds the part of a request or reply that a report shows, in bytes.
const maxCallShown = 3 << 10

// A skipError is the reason why a case cannot run on this store.
type skipError string

func (s skipError) Error() string { return string(s) }

// Error returns the failure as lines for a test log.
func (f *Failure) Error() string {
	text := fmt.Sprintf("clause: %s\nstep %d, %s\n  %s\n", f.Clause, f.Step, f.Call, f.Curl)
	if f.Broken != "" {
		return text + "  " + f.Broken + "\n"
	}
	return text + formatDifferences(f.Differences)
}

// A caseRun runs one case in one format.
type caseRun struct {
	run      *run
	job      job
	result   *Result
	bindings bindings
	saved    map[string]*node
	created  []string // paths of created objects, which cleanUp deletes
}

// newCaseRun returns a caseRun with the variables that every case has: the fixtures,
// {{unique}} and {{oauth}}. The outcome is stored in result.
func newCaseRun(r *run, j job, result *Result) *caseRun {
	p := &caseRun{run: r, job: j, result: result, bindings: maps.Clone(r.target.Fixtures.values), saved: map[string]*node{}}
	if p.bindings == nil {
		p.bindings = bindings{}
	}
	p.bindings["unique"] = node{kind: text, text: r.id + "-" + strconv.Itoa(j.index)}
	p.bindings["oauth"] = r.target.Credentials.bindings()
	return p
}

// runSteps creates the prerequisites of the case and runs its steps, up to the first
// error. The error is a *Failure, a skipError, or an error of the case itself.
func (p *caseRun) runSteps(ctx context.Context) error {
	makings, err := p.run.suite.prerequisites(p.job.c)
	if err != nil {
		return err
	}
	for _, m := range makings {
		maker := p.run.suite.makers[m.maker]
		call := Call{Call: maker.Call, Send: &m.send, SendAs: "json", Accept: "json"}
		if err := p.runCall(ctx, &call, 0, m.name); err != nil {
			return err
		}
	}
	if p.job.c.visit != nil {
		return p.runVisit(ctx)
	}
	for i := range p.job.c.Steps {
		if err := p.runCall(ctx, &p.job.c.Steps[i], i+1, ""); err != nil {
			return err
		}
	}
	return nil
}

// runCall makes one request of the case and checks the reply. step is the number of the
// step, 0 for a prerequisite. For a prerequisite, createdName is the variable that is
// bound to the id of the created object; otherwise it is empty. Calls that do not apply
// to the dialect or the format are left out.
func (p *caseRun) runCall(ctx context.Context, c *Call, step int, createdName string) error {
	e := c.expectation(p.run.target.Dialect)
	if e == nil || len(c.Formats) > 0 && !slices.Contains(c.Formats, p.job.format) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.run.target.Credentials.Has(c.caller()) {
		return skipError("there are no credentials for " + c.caller())
	}
	s, err := p.newStep(c)
	if err == nil && createdName == "" {
		source := e.source
		e, err = p.bindings.expandExpectation(p.run.server, e)
		e.source = source
	}
	if err != nil {
		return p.explainUnbound(err)
	}
	request, got, err := p.send(ctx, s)
	failure := &Failure{
		Step: step, Call: fmt.Sprintf("%s: %s %s", s.As, s.Method, request.target),
		Curl: p.run.target.repeatCommand(p.run.server, request), Clause: strings.Join(p.job.c.Clauses, "; "), Expect: e.source(),
	}
	if err != nil {
		failure.Broken = "no answer: " + err.Error()
		return failure
	}
	// Even if the run has ended: an object that is not tracked would not be deleted.
	if err := p.trackCreated(context.WithoutCancel(ctx), s, got); err != nil {
		failure.Broken = err.Error()
		return failure
	}
	if createdName != "" {
		return p.bindCreated(createdName, got, failure)
	}
	check := checker{shapes: p.run.suite.shapes, view: view{p.run.target.Dialect, p.replyFormat(c, e)}, numericIntegers: p.run.target.NumericIntegers}
	differences, body := check.check(e, p.saved[e.Like], got)
	differences, accepted := p.run.target.accept(s, got, p.run.target.Credentials.redactDifferences(differences))
	p.result.Accepted = append(p.result.Accepted, accepted...)
	if len(differences) > 0 {
		failure.Differences = differences
		return failure
	}
	return p.storeResults(c, e, got, body)
}

// explainUnbound converts an unboundError. A missing fixture or credential becomes a
// skipError, because the store is at liberty not to have it. A missing variable of the
// case is a failure.
func (p *caseRun) explainUnbound(err error) error {
	name, ok := err.(unboundError)
	if !ok {
		return err
	}
	first, _, _ := strings.Cut(string(name), ".")
	switch _, isFixture := p.run.suite.fixtures.values[first]; {
	case isFixture:
		return skipError("the fixtures have no " + string(name))
	case first == "oauth":
		return skipError("the credentials have no " + string(name))
	}
	return fmt.Errorf("the reply to the request that creates {{%s}} has no Location with its id", string(name))
}

// newStep returns the request of c with its variables replaced and its body rendered.
func (p *caseRun) newStep(c *Call) (*Step, error) {
	method, path, _ := strings.Cut(c.Call, " ")
	s := &Step{As: c.caller(), Method: method, Headers: map[string]string{}}
	var err error
	if s.Path, err = p.bindings.expandText(path); err != nil {
		return nil, err
	}
	for name, value := range c.Headers {
		if s.Headers[name], err = p.bindings.expandText(value); err != nil {
			return nil, err
		}
	}
	s.Accept = mediaTypeHeader(c.Accept, p.job.format)
	switch {
	case c.Send != nil:
		sent, err := p.bindings.expandTree(&c.Send.node)
		if err != nil {
			return nil, err
		}
		format := cmp.Or(c.SendAs, p.job.format)
		if p.job.c.Numbers && c.SendAs == "" && p.run.target.Dialect == OpenMage {
			sent, format = withNumbers(&sent), "json"
		}
		body := p.render(&sent, format)
		s.Body, s.ContentType = &body, mediaTypeHeader(c.ContentType, format)
	case c.Body != nil:
		body, err := p.bindings.expandText(*c.Body)
		if err != nil {
			return nil, err
		}
		s.Body = &body
		fallthrough
	default:
		if c.ContentType != "" {
			s.ContentType = mediaTypeHeader(c.ContentType, p.job.format)
		}
	}
	return s, s.validateRequest()
}

// mediaTypeHeader returns the value of an Accept or Content-Type header, or nil for
// "none". value is the name of a format, or any other media type, which is sent
// unchanged. If it is empty, the header has the media type of format.
func mediaTypeHeader(value, format string) *string {
	value = cmp.Or(value, format)
	switch value {
	case "none":
		return nil
	case "json":
		value = "application/json"
	case "xml":
		value = "text/xml" // the only type that the document names (Stock items)
	case "text":
		value = "text/plain"
	}
	return &value
}

// render returns a body in a format.
func (p *caseRun) render(sent *node, format string) string {
	var b strings.Builder
	n := convertToFormat(sent, format)
	switch format {
	case "xml":
		renderXML(&b, &node{kind: record, members: []member{{p.run.target.Dialect.rootElement(), n}}})
	case "text":
		renderForm(&b, &n)
	default:
		renderJSON(&b, &n)
	}
	return b.String()
}

// replyFormat returns the format that the reply to c is expected in.
func (p *caseRun) replyFormat(c *Call, e *Expectation) string {
	switch {
	case e.Format != "":
		return e.Format
	case e.Text != nil && e.Status == http.StatusInternalServerError:
		return "html" // the only reply without a format: Service temporary unavailable
	case mediaType(c.Accept) != "":
		return c.Accept
	}
	return p.job.format
}

// send makes a request and appends it to the calls of the result. A request other than
// GET is completed even if ctx is canceled.
func (p *caseRun) send(ctx context.Context, s *Step) (*request, *reply, error) {
	if s.Method != http.MethodGet {
		// An interrupted request may still be executed, even after the cleanup. So the
		// end of the run waits for the reply. If there is none, deleteLeftovers searches
		// for the object.
		ctx = context.WithoutCancel(ctx)
		p.run.mu.Lock()
		p.run.wrote = true
		p.run.mu.Unlock()
	}
	r := newRequest(p.run.server, p.run.target.Credentials, s)
	ctx, cancel := context.WithTimeout(ctx, p.run.options.Timeout)
	defer cancel()
	start := time.Now()
	got, err := p.run.server.roundTrip(ctx, &r)
	took := time.Since(start)
	if ctx.Err() == nil || err == nil || context.Cause(ctx) == context.DeadlineExceeded {
		p.run.recordReply(err)
	}
	p.result.Calls = append(p.result.Calls, p.run.target.newCallLog(&r, s.As, got, err, start, took))
	return &r, got, err
}

// newCallLog returns the log entry of a request and its reply, truncated and without
// secrets.
func (t *Target) newCallLog(r *request, as string, got *reply, err error, started time.Time, took time.Duration) CallLog {
	c := t.Credentials
	log := CallLog{As: as, Request: truncate(c.Redact(string(r.maskedBytes()))), Started: started.UTC(), Took: took}
	if err != nil {
		log.Reply = err.Error()
	} else {
		shown := got.String()
		log.Reply = truncate(c.Redact(shown[:min(len(shown), 2*maxCallShown)]))
		log.Form = c.redactDifferences(formOf(r, got, t.Dialect))
	}
	return log
}

// String returns the status line, the headers sorted by name, and the body.
func (r *reply) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n", r.status, http.StatusText(r.status))
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.header[name], "; "))
	}
	return b.String() + "\n" + r.body
}

// truncate returns s as valid UTF-8 of about maxCallShown bytes at most.
func truncate(s string) string {
	if len(s) > maxCallShown {
		return strings.ToValidUTF8(s[:maxCallShown], "") + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// storeResults binds and saves the parts of a reply that later steps refer to. It returns
// an error if the reply does not have one of them.
func (p *caseRun) storeResults(c *Call, e *Expectation, got *reply, body *node) error {
	if m := variablePattern.FindAllStringSubmatch(e.Location, -1); len(m) > 0 {
		ids := locationPattern(e.Location).FindStringSubmatch(got.header.Get("Location"))
		if ids == nil { // an accepted difference
			return fmt.Errorf("the reply to %s has no Location of the form %s", c.Call, e.Location)
		}
		for i := range m {
			p.bindings[m[i][2]] = node{kind: text, text: ids[i+1]}
		}
	}
	if c.Save != "" {
		p.saved[c.Save] = body
	}
	for _, name := range slices.Sorted(maps.Keys(c.Bind)) {
		n, ok := body.lookup(c.Bind[name])
		switch {
		case !ok && c.OrSkip != "":
			return skipError(c.OrSkip)
		case !ok:
			return fmt.Errorf("the answer to %s has no %s", c.Call, c.Bind[name])
		}
		value := *n
		if value.kind == number && p.run.target.NumericIntegers {
			value.kind = text // as in the cases
		}
		p.bindings[name] = value
	}
	return nil
}

// bindCreated binds name to the id in the Location of the reply. It returns f as an error
// if the object was not created. Without an id in the Location, the variable stays
// unbound. Another status of a create is not the concern of the case: see [CallLog.Form].
func (p *caseRun) bindCreated(name string, got *reply, f *Failure) error {
	if got.status >= http.StatusBadRequest || got.status != http.StatusOK && got.status != http.StatusMultiStatus && createdID(got) == "" {
		f.Broken = fmt.Sprintf("%s could not be created: %s", name, truncate(p.run.target.Credentials.Redact(got.String())))
		return f
	}
	if id := createdID(got); id != "" {
		p.bindings[name] = node{kind: text, text: id}
	}
	return nil
}
