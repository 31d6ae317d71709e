package report

import (
	"bufio"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/contracttests"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
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
	maxCall          = 64 << 10 // bytes shown of a request or reply
	maxHeadline      = 160      // bytes shown of a failure beside its case
	maxInitiallyOpen = 10       // failures are unfolded initially if there are at most so many
)

// HTML writes the report as one self-contained page.
//
// The details of the cases are compressed in the page, all together because they repeat each
// other, and unfolded by its script.
func HTML(w io.Writer, r *contracttests.Report) error {
	page, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	specification, err := contracttests.LoadSpec()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	view := newPageView(r, specification)
	if view.Packed, err = packBodies(page, view.Resources); err != nil {
		return err
	}
	if err := page.Execute(out, view); err != nil {
		return err
	}
	return out.Flush()
}

// The views are the content of the page, with invisible characters escaped. The template
// escapes HTML.
type (
	pageView struct {
		Policy     string
		Style      template.CSS
		Script     template.JS
		Dialect    string
		URL        string
		Started    string // in RFC 3339
		StartedAt  string
		Took       string
		Counts     tally
		Coverage   coverage
		Gaps       []string // texts about the rows that were not covered
		Roles      []string
		Formats    []string
		Resources  []resourceView
		All        resourceView // sums over all resources, without cases
		Skips      []reason
		Leftovers  []string
		Overview   *overview
		Causes     []causeView
		Sections   []sectionView
		HasResults bool
		Packed     string // see packBodies

		links linker
	}
	resourceView struct {
		Name   string
		Counts tally
		Cells  []cellView // one for each of pageView.Roles
		Cases  []caseView
	}
	cellView struct {
		Role   string
		Counts tally
	}
	caseView struct {
		Anchor                 string // id of its element
		ID, Name, Format, Took string
		Status                 contracttests.Status
		Roles                  []string
		RoleList               string
		Clauses                []linkedText
		Differences            []linkedText // between the dialects
		Headline               string       // summary of the failure, or the reason of the skip
		Open                   bool
		Failure                *failureView
		Calls                  []contracttests.CallLog
	}
	// A causeView shows the first failure of a cause and links to the others.
	causeView struct {
		Text    string
		Count   int
		Open    bool
		First   caseLink
		Failure *failureView
		Others  []caseLink
	}
	caseLink struct {
		Anchor, ID string
		More       bool // it has other differences than the first
	}
	// A linkedText is a text with links to the sections of the specification about it.
	linkedText struct {
		Text     string
		Sections []contracttests.Section
	}
	failureView struct {
		Where, Again, Curl, Expect, Broken string
		Differences                        []shownDifference
		More                               int
	}
	sectionView struct {
		Name    string
		States  []stateView // the states that occur, with their counts
		Open    bool
		Clauses []clauseView
	}
	stateView struct {
		State clauseState
		Class string
		Count int
	}
	clauseView struct {
		Name, Says, Untestable  string
		State                   clauseState
		Class                   string
		Rows                    int
		Passed, Failed, Skipped int
		Sections                []contracttests.Section
	}
)

// A linker finds the sections of the specification that a report cites.
type linker struct {
	spec      *contracttests.Spec
	citations map[string]string // citation by name of clause
}

// newLinker returns a linker for the clauses of r.
func newLinker(r *contracttests.Report, specification *contracttests.Spec) linker {
	l := linker{specification, map[string]string{}}
	for i := range r.Clauses {
		l.citations[r.Clauses[i].Clause] = r.Clauses[i].Section
	}
	return l
}

// citedSections returns the existing sections that a text cites.
func (l linker) citedSections(text string) []contracttests.Section {
	var all []contracttests.Section
	for _, citation := range l.spec.Citations(text) {
		if s, ok := l.spec.Find(citation); ok {
			all = append(all, s)
		}
	}
	return all
}

// linkClause returns the name of a clause with its sections. For a recording, the name
// itself consists of citations.
func (l linker) linkClause(name string) linkedText {
	return linkedText{printableLine(truncate(name, maxPart)), l.citedSections(cmp.Or(l.citations[name], name))}
}

// Verdict returns the word for the outcome of the run.
func (p *pageView) Verdict() string { return p.Counts.verdict() }

// newPageView returns the content of the page, but for the bodies of the cases.
func newPageView(r *contracttests.Report, specification *contracttests.Spec) *pageView {
	c := newCoverage(r)
	p := &pageView{
		Policy: "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src " +
			cspHash(pageCSS) + "; script-src " + cspHash(pageJS),
		Style:      template.CSS(pageCSS),
		Script:     template.JS(pageJS),
		Dialect:    printableLine(string(r.Dialect)),
		URL:        printableLine(truncate(r.URL, maxPart)),
		Started:    r.Started.UTC().Format(time.RFC3339),
		StartedAt:  r.Started.UTC().Format("2 January 2006, 15:04:05 UTC"),
		Took:       fmt.Sprintf("%.1f s", r.Took),
		Counts:     newTally(r),
		Coverage:   c,
		Gaps:       c.gapTexts(),
		Skips:      skipReasons(r),
		HasResults: len(r.Results) > 0,
		Overview:   newOverview(r),
		links:      newLinker(r, specification),
	}
	for _, call := range r.Leftovers {
		p.Leftovers = append(p.Leftovers, Pasteable(truncate(call, maxCommand)))
	}
	p.Roles = collectNames(r, []string{contracttests.Admin, contracttests.Customer1, contracttests.Customer2, contracttests.Guest},
		func(one *contracttests.Result) []string { return one.Roles })
	p.Formats = collectNames(r, []string{"json", "xml", "text"}, func(one *contracttests.Result) []string { return []string{one.Format} })
	p.addResults(r)
	p.addCauses(r)
	for _, s := range groupClauses(r) {
		p.Sections = append(p.Sections, p.newSectionView(s))
	}
	return p
}

// cspHash returns the source expression that allows an inline script or style in a
// content security policy.
func cspHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// collectNames returns the names that get returns for the results, each once: first the
// known ones in their order, then the others by appearance.
func collectNames(r *contracttests.Report, known []string, get func(*contracttests.Result) []string) []string {
	found := map[string]bool{}
	var others []string
	for i := range r.Results {
		for _, name := range get(&r.Results[i]) {
			if !found[name] && !slices.Contains(known, name) {
				others = append(others, printableLine(name))
			}
			found[name] = true
		}
	}
	known = slices.DeleteFunc(known, func(name string) bool { return !found[name] })
	return append(known, others...)
}

// addResults adds all results to the views of their resources and to the view of all
// resources.
func (p *pageView) addResults(r *contracttests.Report) {
	p.All = p.newResourceView("")
	at := map[string]int{}
	for i := range r.Results {
		one := &r.Results[i]
		if _, ok := at[one.Resource]; !ok {
			at[one.Resource] = len(p.Resources)
			p.Resources = append(p.Resources, p.newResourceView(one.Resource))
		}
		resource := &p.Resources[at[one.Resource]]
		view := p.newCaseView(one, r.Command)
		view.Anchor = anchor(i)
		view.Open = one.Status == contracttests.Failed && p.Counts.Failed <= maxInitiallyOpen
		resource.Cases = append(resource.Cases, view)
		resource.add(one.Status, view.Roles)
		p.All.add(one.Status, view.Roles)
	}
}

// maxOpenCauses is the number of causes that are unfolded initially.
const maxOpenCauses = 3

// addCauses adds the failures by cause.
func (p *pageView) addCauses(r *contracttests.Report) {
	anchors := map[*contracttests.Result]string{}
	for i := range r.Results {
		anchors[&r.Results[i]] = anchor(i)
	}
	for i, c := range p.Overview.Causes {
		first := c.First()
		v := causeView{
			Text: c.Text, Count: len(c.Failures), Open: i < maxOpenCauses,
			First: caseLink{anchors[first], printableLine(first.ID()), false}, Failure: newFailureView(first, r.Command),
		}
		for j, f := range c.Failures[1:] {
			v.Others = append(v.Others, caseLink{anchors[f], printableLine(f.ID()), c.more[j+1]})
		}
		p.Causes = append(p.Causes, v)
	}
}

// anchor returns the id of the element of a result.
func anchor(index int) string { return fmt.Sprintf("run-%d", index+1) }

// newResourceView returns a view without cases.
func (p *pageView) newResourceView(name string) resourceView {
	v := resourceView{Name: printableLine(name), Cells: make([]cellView, len(p.Roles))}
	for i, role := range p.Roles {
		v.Cells[i].Role = role
	}
	return v
}

// add counts a run with the given status for its roles.
func (v *resourceView) add(s contracttests.Status, roles []string) {
	v.Counts.add(s)
	for i := range v.Cells {
		if slices.Contains(roles, v.Cells[i].Role) {
			v.Cells[i].Counts.add(s)
		}
	}
}

// newCaseView returns the view of one result. command is the command of the run.
func (p *pageView) newCaseView(r *contracttests.Result, command string) caseView {
	v := caseView{
		ID:       printableLine(r.ID()),
		Name:     printableLine(r.Name),
		Format:   printableLine(r.Format),
		Took:     formatDuration(r.Took),
		Status:   r.Status,
		Roles:    printableLines(r.Roles),
		RoleList: strings.Join(printableLines(r.Roles), " "),
		Calls:    r.Calls,
	}
	for _, name := range r.Clauses {
		v.Clauses = append(v.Clauses, p.links.linkClause(name))
	}
	for _, d := range r.DialectDifferences {
		v.Differences = append(v.Differences, linkedText{printableLine(truncate(d.Says, maxPart)), p.links.citedSections(d.Section)})
	}
	switch r.Status {
	case contracttests.Skipped:
		v.Headline = cmp.Or(printable(truncate(r.Reason, maxPart)), "no reason given")
	case contracttests.Failed:
		v.Headline = truncate(headline(r.Failure), maxHeadline)
		v.Failure = newFailureView(r, command)
	}
	return v
}

// newFailureView returns the view of the failure of a result, or nil if there are no details.
func newFailureView(r *contracttests.Result, command string) *failureView {
	f := r.Failure
	if f == nil {
		return nil
	}
	v := &failureView{
		Again:  repeatCase(command, r),
		Where:  printableLine(truncate(failedCall(f), maxPart)),
		Expect: printable(truncate(strings.TrimRight(f.Expect, "\n"), maxExpect)),
		Broken: printable(truncate(f.Broken, maxExpect)),
	}
	if f.Curl != "" {
		v.Curl = Pasteable(truncate(f.Curl, maxCommand))
	}
	v.Differences, v.More = limitDifferences(f)
	return v
}

// newSectionView returns the view of a section of clauses.
func (p *pageView) newSectionView(s section) sectionView {
	v := sectionView{Name: printableLine(s.Name)}
	for _, state := range []clauseState{failed, skipped, notRun, untestable, passed} {
		if n := s.count(state); n > 0 {
			v.States = append(v.States, stateView{state, cssClass(state), n})
			v.Open = v.Open || state == failed
		}
	}
	for _, c := range s.Clauses {
		v.Clauses = append(v.Clauses, clauseView{
			Name: printableLine(c.Clause), Says: printableLine(c.Says), Untestable: printableLine(c.Untestable),
			State: stateOf(c), Class: cssClass(stateOf(c)), Rows: c.Rows,
			Passed: c.Passed, Failed: c.Failed, Skipped: c.Skipped,
			Sections: p.links.citedSections(c.Section),
		})
	}
	return v
}

// String returns the state as shown to readers.
func (s clauseState) String() string {
	switch s {
	case skipped:
		return "only skipped"
	case untestable:
		return "cannot be tested"
	default:
		return string(s)
	}
}

// cssClass returns the CSS class of a state.
func cssClass(s clauseState) string { return strings.ReplaceAll(string(s), " ", "-") }

// printableLines returns each text as a printable line, truncated.
func printableLines(all []string) []string {
	shown := make([]string, len(all))
	for i, s := range all {
		shown[i] = printableLine(truncate(s, maxPart))
	}
	return shown
}

// formatDuration returns a duration in milliseconds or seconds.
func formatDuration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// packBodies returns the bodies of all cases in the encoding that the page's script unfolds: a JSON
// list of the markup and the calls of each case, deflated, in base64.
func packBodies(page *template.Template, resources []resourceView) (string, error) {
	type packedCase struct {
		HTML  string      `json:"html"`
		Calls [][3]string `json:"calls"` // caller, request and reply
	}
	var packed strings.Builder
	text := base64.NewEncoder(base64.RawURLEncoding, &packed) // without + and =, which HTML escapes
	deflate, err := flate.NewWriter(text, flate.BestCompression)
	if err != nil {
		return "", err
	}
	list := json.NewEncoder(deflate)
	list.SetEscapeHTML(false)
	separator := "["
	for _, resource := range resources {
		for _, c := range resource.Cases {
			var body strings.Builder
			if err := page.ExecuteTemplate(&body, "body", c); err != nil {
				return "", err
			}
			one := packedCase{HTML: body.String(), Calls: make([][3]string, len(c.Calls))}
			for i, call := range c.Calls {
				one.Calls[i] = [...]string{printableLine(call.As), printableMessage(call.Request), printableMessage(call.Reply)}
			}
			if _, err := io.WriteString(deflate, separator); err != nil {
				return "", err
			}
			if err := list.Encode(one); err != nil {
				return "", err
			}
			separator = ","
		}
	}
	_, err = io.WriteString(deflate, strings.TrimPrefix(separator, ",")+"]")
	err = errors.Join(err, deflate.Close(), text.Close())
	return packed.String(), err
}

// printableMessage returns a request or reply for display. Line ends of the head are
// normalized; in the body, carriage returns are escaped.
func printableMessage(s string) string {
	head, body, found := strings.Cut(s, "\r\n\r\n")
	head = printable(strings.ReplaceAll(head, "\r\n", "\n"))
	if !found {
		return truncate(head, maxCall)
	}
	return truncate(head+"\n\n"+printable(body), maxCall)
}
