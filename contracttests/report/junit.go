package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"github.com/portico-commerce/portico/contracttests"
	"io"
	"strings"
	"time"
)

// The elements of JUnit XML that CI viewers have in common.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitCounts struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"` // seconds
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitCounts
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		took       time.Duration
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
		Skipped *junitSkipped `xml:"skipped"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

// JUnit writes the report as JUnit XML with one suite for each resource. The class and
// the name of a test, joined by a slash, are the ID of the result. The type of a failure is
// its cause, which viewers group by.
func JUnit(w io.Writer, r *contracttests.Report) error {
	all := junitSuites{Name: "contract"}
	at := map[string]int{}
	types := map[*contracttests.Result]string{}
	for _, c := range newOverview(r).Causes {
		for _, f := range c.Failures {
			types[f] = c.Text
		}
	}
	for i := range r.Results {
		one := &r.Results[i]
		if _, ok := at[one.Resource]; !ok {
			at[one.Resource] = len(all.Suites)
			all.Suites = append(all.Suites, junitSuite{
				Name:      printableLine(one.Resource),
				Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05"),
				Properties: []junitProperty{
					{"url", printableLine(r.URL)},
					{"dialect", printableLine(string(r.Dialect))},
				},
			})
		}
		suite := &all.Suites[at[one.Resource]]
		suite.Cases = append(suite.Cases, newJUnitCase(one, types[one], r.Command))
		suite.took += one.Took
		for _, counts := range []*junitCounts{&suite.junitCounts, &all.junitCounts} {
			counts.Tests++
			switch one.Status {
			case contracttests.Failed:
				counts.Failures++
			case contracttests.Skipped:
				counts.Skipped++
			}
		}
	}
	all.Time = formatSeconds(r.Took)
	for i := range all.Suites {
		all.Suites[i].Time = formatSeconds(all.Suites[i].took.Seconds())
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// newJUnitCase returns the test case of one result. failureType is the cause of a failure, and
// command is the command of the run.
func newJUnitCase(r *contracttests.Result, failureType, command string) junitCase {
	c := junitCase{
		Class: printableLine(r.Resource),
		Name:  printableLine(r.Name + "/" + r.Format),
		Time:  formatSeconds(r.Took.Seconds()),
	}
	switch r.Status {
	case contracttests.Skipped:
		c.Skipped = &junitSkipped{cmp.Or(printableLine(truncate(r.Reason, maxPart)), "no reason given")}
	case contracttests.Failed:
		t := &terminal{}
		t.writeFailure(r, command)
		c.Failure = &junitFailure{
			Message: headline(r.Failure),
			Type:    failureType,
			Text:    "\n" + strings.TrimRight(t.String(), "\n") + "\n",
		}
	}
	return c
}

// headline returns a failure as one line of text.
func headline(f *contracttests.Failure) string {
	if f == nil {
		return "the report has no details of the failure"
	}
	call := printableLine(truncate(f.Call, maxPart)) + ": "
	if f.Broken != "" {
		line, _, _ := strings.Cut(f.Broken, "\n")
		return call + printableLine(truncate(line, maxPart))
	}
	shown, more := limitDifferences(f)
	if len(shown) == 0 {
		return call + "not as expected"
	}
	d := shown[0]
	text := call + d.Where
	if d.Lines == nil {
		text += fmt.Sprintf(": want %s, got %s", d.Want, d.Got)
	} else {
		text += " is another text"
	}
	if rest := len(shown) - 1 + more; rest > 0 {
		text += fmt.Sprintf(", and %d more", rest)
	}
	return text
}

func (s span) String() string { return cmp.Or(s.Before+s.Part+s.After, "nothing") }

func formatSeconds(s float64) string { return fmt.Sprintf("%.3f", s) }
