package contracttests

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// shownCall bounds what a report shows of a request or reply, in bytes.
const shownCall = 3 << 10

// skipped is why a case cannot be run on this store.
type skipped string

func (s skipped) Error() string { return string(s) }

// Error tells the failure in some lines.
func (f *Failure) Error() string {
	text := fmt.Sprintf("clause: %s\nstep %d, %s\n  %s\n", f.Clause, f.Step, f.Call, f.Curl)
	if f.Broken != "" {
		return text + "  " + f.Broken + "\n"
	}
	return text + formatDifferences(f.Differences)
}

// A caseRun runs one case in one format.
type caseRun struct {
	run    *run
	job    job
	result *Result
	names  names
	saved  map[string]*node
	made   []string // paths of what was made, to be deleted
}

func newCaseRun(r *run, j job, result *Result) *caseRun {
	p := &caseRun{run: r, job: j, result: result, names: maps.Clone(r.target.Fixtures.values), saved: map[string]*node{}}
	if p.names == nil {
		p.names = names{}
	}
	p.names["unique"] = node{kind: text, text: r.id + "-" + strconv.Itoa(j.number)}
	p.names["oauth"] = r.target.Credentials.names()
	return p
}

// play makes what the case needs, then its calls.
func (p *caseRun) play(ctx context.Context) error {
	makings, err := p.run.suite.makings(p.job.c)
	if err != nil {
		return err
	}
	for _, m := range makings {
		maker := p.run.suite.makers[m.maker]
		call := Call{Call: maker.Call, Send: &m.send, SendAs: "json", Accept: "json"}
		if err := p.call(ctx, &call, 0, m.name); err != nil {
			return err
		}
	}
	for i := range p.job.c.Steps {
		if err := p.call(ctx, &p.job.c.Steps[i], i+1, ""); err != nil {
			return err
		}
	}
	return nil
}

// call makes one call of the case and compares the answer. What is called makes,
// if not "", is bound to the id of what the call makes.
func (p *caseRun) call(ctx context.Context, c *Call, step int, makes string) error {
	e := c.expectation(p.run.target.Dialect)
	if e == nil || len(c.Formats) > 0 && !slices.Contains(c.Formats, p.job.format) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.run.target.Credentials.Has(c.as()) {
		return skipped("the credentials name no " + c.as())
	}
	s, err := p.step(c)
	if err == nil && makes == "" {
		source := e.source
		e, err = p.names.expectation(p.run.server, e)
		e.source = source
	}
	if err != nil {
		return p.unbound(err)
	}
	request, got, err := p.send(ctx, s)
	failure := &Failure{
		Step: step, Call: fmt.Sprintf("%s: %s %s", s.As, s.Method, request.target),
		Curl: p.run.target.Credentials.Redact(curl(p.run.server, request)), Clause: strings.Join(p.job.c.Clauses, "; "), Expect: e.source,
	}
	if err != nil {
		failure.Broken = "no answer: " + err.Error()
		return failure
	}
	// Also when the run ends meanwhile: what is not known to be made stays.
	if err := p.noteMade(context.WithoutCancel(ctx), s, got); err != nil {
		failure.Broken = err.Error()
		return failure
	}
	if makes != "" {
		return p.bindMade(makes, got, failure)
	}
	check := checker{shapes: p.run.suite.shapes, view: view{p.run.target.Dialect, p.format(c, e)}}
	differences, body := check.check(e, p.saved[e.Like], got)
	if len(differences) > 0 {
		failure.Differences = p.run.target.Credentials.redactAll(differences)
		return failure
	}
	return p.keep(c, e, got, body)
}

// unbound says of a name that stands for nothing why: the store's fixtures or the
// credentials lack it, which is no fault. What the case itself should have bound is
// one.
func (p *caseRun) unbound(err error) error {
	name, ok := err.(unbound)
	if !ok {
		return err
	}
	first, _, _ := strings.Cut(string(name), ".")
	switch _, isFixture := p.run.suite.fixtures.values[first]; {
	case isFixture:
		return skipped("the fixtures have no " + string(name))
	case first == "oauth":
		return skipped("the credentials have no " + string(name))
	}
	return fmt.Errorf("there is no %s: what makes it was answered without a Location that names it", string(name))
}

// step returns the call as it is sent.
func (p *caseRun) step(c *Call) (*Step, error) {
	method, path, _ := strings.Cut(c.Call, " ")
	s := &Step{As: c.as(), Method: method, Headers: map[string]string{}}
	var err error
	if s.Path, err = p.names.text(path); err != nil {
		return nil, err
	}
	for name, value := range c.Headers {
		if s.Headers[name], err = p.names.text(value); err != nil {
			return nil, err
		}
	}
	s.Accept = mediaHeader(c.Accept, p.job.format)
	switch {
	case c.Send != nil:
		sent, err := p.names.tree(&c.Send.node)
		if err != nil {
			return nil, err
		}
		format := c.SendAs
		if format == "" {
			format = p.job.format
		}
		body := p.write(&sent, format)
		s.Body, s.ContentType = &body, mediaHeader(c.ContentType, format)
	case c.Body != nil:
		body, err := p.names.text(*c.Body)
		if err != nil {
			return nil, err
		}
		s.Body = &body
		fallthrough
	default:
		if c.ContentType != "" {
			s.ContentType = mediaHeader(c.ContentType, p.job.format)
		}
	}
	return s, s.validateRequest()
}

// mediaHeader returns the value of an Accept or Content-Type header: of a format,
// of none, or what it says itself.
func mediaHeader(says, format string) *string {
	if says == "" {
		says = format
	}
	switch says {
	case "none":
		return nil
	case "json":
		says = "application/json"
	case "xml":
		says = "text/xml" // the one form the document names (Stock items)
	case "text":
		says = "text/plain"
	}
	return &says
}

// write returns a body in a format.
func (p *caseRun) write(sent *node, format string) string {
	var b strings.Builder
	n := inFormat(sent, format)
	switch format {
	case "xml":
		renderXML(&b, &node{kind: record, members: []member{{p.run.target.Dialect.root(), n}}})
	case "text":
		renderForm(&b, &n)
	default:
		renderJSON(&b, &n)
	}
	return b.String()
}

// format returns the format in which an answer is expected.
func (p *caseRun) format(c *Call, e *Expectation) string {
	switch {
	case e.Format != "":
		return e.Format
	case e.Text != nil && e.Status == http.StatusInternalServerError:
		return "html" // the one answer in no format: Service temporary unavailable
	case mediaType(c.Accept) != "":
		return c.Accept
	}
	return p.job.format
}

// send makes a request and keeps what was said for the report.
func (p *caseRun) send(ctx context.Context, s *Step) (*request, *reply, error) {
	if s.Method != http.MethodGet {
		// What is cut off may be done all the same, even after everything has been
		// cleaned up. So an end of the run waits for its answer, and where none comes
		// what may have been made is looked for.
		ctx = context.WithoutCancel(ctx)
		p.run.mu.Lock()
		p.run.wrote = true
		p.run.mu.Unlock()
	}
	r := newRequest(p.run.server, p.run.target.Credentials, s)
	ctx, cancel := context.WithTimeout(ctx, p.run.options.Timeout)
	defer cancel()
	got, err := p.run.server.send(ctx, &r)
	if ctx.Err() == nil || err == nil || context.Cause(ctx) == context.DeadlineExceeded {
		p.run.answered(err)
	}
	p.result.Calls = append(p.result.Calls, p.run.target.Credentials.logCall(&r, s.As, got, err))
	return &r, got, err
}

// logCall returns a call for a report, without secrets.
func (c Credentials) logCall(r *request, as string, got *reply, err error) CallLog {
	log := CallLog{As: as, Request: cut(c.Redact(string(r.masked())))}
	if err != nil {
		log.Reply = err.Error()
	} else {
		shown := got.String()
		log.Reply = cut(c.Redact(shown[:min(len(shown), 2*shownCall)]))
	}
	return log
}

// String returns the reply as text.
func (r *reply) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n", r.status, http.StatusText(r.status))
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.header[name], "; "))
	}
	return b.String() + "\n" + r.body
}

func cut(s string) string {
	if len(s) > shownCall {
		return strings.ToValidUTF8(s[:shownCall], "") + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// keep binds and saves what later steps name.
func (p *caseRun) keep(c *Call, e *Expectation, got *reply, body *node) error {
	if m := variable.FindAllStringSubmatch(e.Location, -1); len(m) > 0 {
		ids := locationForm(e.Location).FindStringSubmatch(got.header.Get("Location"))
		for i := range m {
			p.names[m[i][2]] = node{kind: text, text: ids[i+1]}
		}
	}
	if c.Save != "" {
		p.saved[c.Save] = body
	}
	for _, name := range slices.Sorted(maps.Keys(c.Bind)) {
		n, ok := body.at(c.Bind[name])
		switch {
		case !ok && c.OrSkip != "":
			return skipped(c.OrSkip)
		case !ok:
			return fmt.Errorf("the answer to %s has no %s", c.Call, c.Bind[name])
		}
		p.names[name] = *n
	}
	return nil
}

// bindMade binds a name to the id in the Location of what was made.
func (p *caseRun) bindMade(name string, got *reply, f *Failure) error {
	if got.status != http.StatusOK && got.status != http.StatusMultiStatus {
		f.Broken = fmt.Sprintf("%s could not be made: %s", name, cut(p.run.target.Credentials.Redact(got.String())))
		return f
	}
	location := got.header.Get("Location")
	if id := location[strings.LastIndexByte(location, '/')+1:]; isDigits(id) {
		p.names[name] = node{kind: text, text: id}
	}
	return nil
}
