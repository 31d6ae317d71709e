package report

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/spec"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

const (
	maxCall       = 64 << 10 // bytes shown of a request or reply
	unfoldedAtOut = 10       // so many failures or fewer are unfolded from the start
)

// HTML writes the report as one page that needs nothing else.
//
// What went over the wire is compressed in the page and unfolded by its script:
// written out, the calls of a thousand cases would make it slow to load.
func HTML(w io.Writer, r *contracttests.Report) error {
	page, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	specification, err := spec.Load()
	if err != nil {
		return err
	}
	deflate, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if err := page.Execute(out, newPageView(r, specification, deflate)); err != nil {
		return err
	}
	return out.Flush()
}

// The views are what the page shows, made readable; the template escapes it.
type (
	pageView struct {
		Policy     string
		Style      template.CSS
		Script     template.JS
		Dialect    string
		URL        string
		Started    string // for machines
		StartedAt  string
		Took       string
		Counts     tally
		Coverage   coverage
		Gaps       []string // rows that were not covered, and why
		Roles      []string
		Formats    []string
		Resources  []resourceView
		All        resourceView // of all resources, without cases
		Skips      []reason
		Leftovers  []string
		Sections   []sectionView
		HasResults bool

		links linker
	}
	resourceView struct {
		Name   string
		Counts tally
		Cells  []cellView // one for each role
		Cases  []caseView
	}
	cellView struct {
		Role   string
		Counts tally
	}
	caseView struct {
		ID, Name, Format, Took string
		Status                 contracttests.Status
		Roles                  []string
		RoleList               string
		Clauses                []specifiedView
		Differences            []specifiedView // between the dialects
		Headline               string          // of a failure, or the reason of a skip
		Open                   bool
		Failure                *failureView
		result                 *contracttests.Result
		deflate                *flate.Writer // one for all: each takes a megabyte
	}
	// A specifiedView is a text with links to the sections that specify it.
	specifiedView struct {
		Text     string
		Sections []spec.Section
	}
	failureView struct {
		Where, Curl, Expect, Broken string
		Differences                 []difference
		More                        int
	}
	sectionView struct {
		Name    string
		States  []stateView // that occur, and how often
		Open    bool
		Clauses []clauseView
	}
	stateView struct {
		State state
		Class string
		Count int
	}
	clauseView struct {
		Name, Says, Unshown     string
		State                   state
		Class                   string
		Rows                    int
		Passed, Failed, Skipped int
		Sections                []spec.Section
	}
)

// A linker finds the sections of the specification that a report cites.
type linker struct {
	spec      *spec.Spec
	ofClauses map[string]string // citation by the name of a clause
}

func newLinker(r *contracttests.Report, specification *spec.Spec) linker {
	l := linker{specification, map[string]string{}}
	for i := range r.Clauses {
		l.ofClauses[r.Clauses[i].Clause] = r.Clauses[i].Section
	}
	return l
}

// sections returns those that a text cites, without those that do not exist.
func (l linker) sections(text string) []spec.Section {
	var all []spec.Section
	for _, citation := range l.spec.Citations(text) {
		if s, ok := l.spec.Find(citation); ok {
			all = append(all, s)
		}
	}
	return all
}

// clause returns the view of a clause that a case shows: a name in the report's list of
// clauses, or the citations of a recording.
func (l linker) clause(name string) specifiedView {
	return specifiedView{visibleLine(cut(name, maxPart)), l.sections(cmp.Or(l.ofClauses[name], name))}
}

// Verdict is the word at the top.
func (p *pageView) Verdict() string { return p.Counts.verdict() }

func newPageView(r *contracttests.Report, specification *spec.Spec, deflate *flate.Writer) *pageView {
	c := coverageOf(r)
	p := &pageView{
		Policy: "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src " +
			digest(pageCSS) + "; script-src " + digest(pageJS),
		Style:      template.CSS(pageCSS),
		Script:     template.JS(pageJS),
		Dialect:    visibleLine(string(r.Dialect)),
		URL:        visibleLine(cut(r.URL, maxPart)),
		Started:    r.Started.UTC().Format(time.RFC3339),
		StartedAt:  r.Started.UTC().Format("2 January 2006, 15:04:05 UTC"),
		Took:       fmt.Sprintf("%.1f s", r.Took),
		Counts:     tallyOf(r),
		Coverage:   c,
		Gaps:       c.gaps(),
		Skips:      skips(r),
		HasResults: len(r.Results) > 0,
		links:      newLinker(r, specification),
	}
	for _, call := range r.Leftovers {
		p.Leftovers = append(p.Leftovers, Pasteable(cut(call, maxCommand)))
	}
	p.Roles, p.Formats = rolesOf(r), formatsOf(r)
	p.group(r, deflate)
	for _, s := range sections(r) {
		p.Sections = append(p.Sections, p.newSectionView(s))
	}
	return p
}

// digest returns how a policy names a script or style.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// rolesOf returns the roles that occur, those of the contract first.
func rolesOf(r *contracttests.Report) []string {
	known := []string{contracttests.Admin, contracttests.Customer1, contracttests.Customer2, contracttests.Guest}
	return occurring(r, known, func(one *contracttests.Result) []string { return one.Roles })
}

func formatsOf(r *contracttests.Report) []string {
	return occurring(r, []string{"json", "xml", "text"}, func(one *contracttests.Result) []string { return []string{one.Format} })
}

func occurring(r *contracttests.Report, known []string, of func(*contracttests.Result) []string) []string {
	found := map[string]bool{}
	var others []string
	for i := range r.Results {
		for _, name := range of(&r.Results[i]) {
			if !found[name] && !slices.Contains(known, name) {
				others = append(others, visibleLine(name))
			}
			found[name] = true
		}
	}
	known = slices.DeleteFunc(known, func(name string) bool { return !found[name] })
	return append(known, others...)
}

// group makes the views of resources and of all together.
func (p *pageView) group(r *contracttests.Report, deflate *flate.Writer) {
	p.All = p.newResourceView("")
	at := map[string]int{}
	for i := range r.Results {
		one := &r.Results[i]
		if _, ok := at[one.Resource]; !ok {
			at[one.Resource] = len(p.Resources)
			p.Resources = append(p.Resources, p.newResourceView(one.Resource))
		}
		resource := &p.Resources[at[one.Resource]]
		view := p.newCaseView(one)
		view.deflate = deflate
		view.Open = one.Status == contracttests.Failed && p.Counts.Failed <= unfoldedAtOut
		resource.Cases = append(resource.Cases, view)
		resource.add(one.Status, view.Roles)
		p.All.add(one.Status, view.Roles)
	}
}

func (p *pageView) newResourceView(name string) resourceView {
	v := resourceView{Name: visibleLine(name), Cells: make([]cellView, len(p.Roles))}
	for i, role := range p.Roles {
		v.Cells[i].Role = role
	}
	return v
}

func (v *resourceView) add(s contracttests.Status, roles []string) {
	v.Counts.add(s)
	for i := range v.Cells {
		if slices.Contains(roles, v.Cells[i].Role) {
			v.Cells[i].Counts.add(s)
		}
	}
}

func (p *pageView) newCaseView(r *contracttests.Result) caseView {
	v := caseView{
		ID:       visibleLine(r.ID()),
		Name:     visibleLine(r.Name),
		Format:   visibleLine(r.Format),
		Took:     duration(r.Took),
		Status:   r.Status,
		Roles:    visibleLines(r.Roles),
		RoleList: strings.Join(visibleLines(r.Roles), " "),
		result:   r,
	}
	for _, name := range r.Clauses {
		v.Clauses = append(v.Clauses, p.links.clause(name))
	}
	for _, d := range r.DialectDifferences {
		v.Differences = append(v.Differences, specifiedView{visibleLine(cut(d.Says, maxPart)), p.links.sections(d.Section)})
	}
	switch r.Status {
	case contracttests.Skipped:
		v.Headline = cmp.Or(visible(cut(r.Reason, maxPart)), "no reason given")
	case contracttests.Failed:
		v.Headline = headline(r.Failure)
		v.Failure = newFailureView(r.Failure)
	}
	return v
}

func newFailureView(f *contracttests.Failure) *failureView {
	if f == nil {
		return nil
	}
	v := &failureView{
		Where:  visibleLine(cut(where(f), maxPart)),
		Expect: visible(cut(strings.TrimRight(f.Expect, "\n"), maxExpect)),
		Broken: visible(cut(f.Broken, maxExpect)),
	}
	if f.Curl != "" {
		v.Curl = Pasteable(cut(f.Curl, maxCommand))
	}
	v.Differences, v.More = differences(f)
	return v
}

func (p *pageView) newSectionView(s section) sectionView {
	v := sectionView{Name: visibleLine(s.Name)}
	for _, of := range []state{failed, skipped, notRun, unshown, passed} {
		if n := s.count(of); n > 0 {
			v.States = append(v.States, stateView{of, class(of), n})
			v.Open = v.Open || of == failed
		}
	}
	for _, c := range s.Clauses {
		v.Clauses = append(v.Clauses, clauseView{
			Name: visibleLine(c.Clause), Says: visibleLine(c.Says), Unshown: visibleLine(c.Unshown),
			State: stateOf(c), Class: class(stateOf(c)), Rows: c.Rows,
			Passed: c.Passed, Failed: c.Failed, Skipped: c.Skipped,
			Sections: p.links.sections(c.Section),
		})
	}
	return v
}

// String is how the page calls the state of a clause.
func (s state) String() string {
	switch s {
	case skipped:
		return "only skipped"
	case unshown:
		return "cannot be shown"
	default:
		return string(s)
	}
}

func class(s state) string { return strings.ReplaceAll(string(s), " ", "-") }

func visibleLines(all []string) []string {
	shown := make([]string, len(all))
	for i, s := range all {
		shown[i] = visibleLine(cut(s, maxPart))
	}
	return shown
}

func duration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// CallCount is how many calls the case made.
func (v caseView) CallCount() int { return len(v.result.Calls) }

// Calls returns the calls of the case as the script of the page unfolds them: a
// JSON list, deflated, in base64.
func (v caseView) Calls() (string, error) {
	shown := make([]contracttests.CallLog, len(v.result.Calls))
	for i, c := range v.result.Calls {
		shown[i] = contracttests.CallLog{As: visibleLine(c.As), Request: message(c.Request), Reply: message(c.Reply)}
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	v.deflate.Reset(&packed)
	if _, err := v.deflate.Write(text); err != nil {
		return "", err
	}
	if err := v.deflate.Close(); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(packed.Bytes()), nil
}

// message returns a request or reply for people to read. Lines of the head end as
// all lines do; in the body a carriage return is shown.
func message(s string) string {
	head, body, found := strings.Cut(s, "\r\n\r\n")
	head = visible(strings.ReplaceAll(head, "\r\n", "\n"))
	if !found {
		return cut(head, maxCall)
	}
	return cut(head+"\n\n"+visible(body), maxCall)
}
