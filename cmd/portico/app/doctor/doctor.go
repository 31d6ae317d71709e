// Package doctor checks the environment of a program, and prints the finding of each check together
// with its remedy.
//
// # Principles
//
//  1. A check changes nothing, so that an operator can run it at any time.
//  2. Checks run at the same time, each with a deadline. A check that does not end is a fault, and
//     does not delay the others.
//  3. Findings are reported in the order of the checks, whatever the order in which they end.
//  4. A finding that is not good contains a remedy.
//
// An examination is one run of "portico doctor"; its methods are the checks, in one file for each
// group. [Run], which runs checks and collects their findings, does not depend on the contents of
// the checks.
//
// # How it is tested
//
// With checks that end at once, late or never, and with texts that could disturb a terminal.
package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Level is the severity of a finding.
type Level string

const (
	// OK needs no attention.
	OK Level = "ok"
	// Warning works, but not well, or not for long.
	Warning Level = "warning"
	// Fault means that the program, or a part of it, does not work.
	Fault Level = "fault"
	// NotUsed is about something that is not configured.
	NotUsed Level = "not_used"
	// NotChecked needs something that another check has found missing.
	NotChecked Level = "not_checked"
)

// A Finding is a result of a check.
type Finding struct {
	Group string `json:"group"` // of the check
	Check string `json:"check"`
	Level Level  `json:"level"`
	Found string `json:"found"`
	// Advice is the remedy; "" if none is needed.
	Advice string `json:"advice,omitempty"`
}

// A Check examines one thing.
type Check struct {
	// Group is the heading under which the findings are printed, and Name the subject of the check.
	// Both are short and in lower case.
	Group, Name string
	// Run returns the findings, at least one. Group is set by the caller, and an empty Check
	// stands for Name. Run should return when the context ends.
	Run func(context.Context) []Finding
}

// A Report holds the findings of all checks.
type Report struct {
	// Level is the worst of all findings: OK, Warning or Fault.
	Level    Level     `json:"level"`
	Faults   int       `json:"faults"`
	Warnings int       `json:"warnings"`
	Findings []Finding `json:"findings"`
}

// grace is the time after its deadline in which a check may still report the cause of the delay.
const grace = 500 * time.Millisecond

// Run runs all checks at the same time and returns their findings in the order of checks. A
// check that has not ended soon after timeout is a fault.
func Run(ctx context.Context, checks []Check, timeout time.Duration) *Report {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	given := make([]chan []Finding, len(checks))
	for i, c := range checks {
		given[i] = make(chan []Finding, 1) // a check that ends too late must not wait
		go func() { given[i] <- c.Run(limited) }()
	}
	late, stop := context.WithTimeout(ctx, timeout+grace)
	defer stop()
	report := &Report{Level: OK, Findings: []Finding{}}
	for i, c := range checks {
		for _, f := range await(late, given[i], timeout) {
			report.add(c, f)
		}
	}
	return report
}

// await returns the findings of a check, or a finding that it has not ended.
func await(ctx context.Context, given <-chan []Finding, timeout time.Duration) []Finding {
	select {
	case findings := <-given:
		return findings
	case <-ctx.Done():
	}
	select {
	case findings := <-given: // it ended at the same time
		return findings
	default:
		return []Finding{{Level: Fault, Found: fmt.Sprintf("the check has not ended within %s", timeout), Advice: "See whether what it is about answers at all, and repeat the command."}}
	}
}

// add adds a finding of a check.
func (r *Report) add(c Check, f Finding) {
	f.Group = c.Group
	if f.Check == "" {
		f.Check = c.Name
	}
	f.Found, f.Advice = oneLine(f.Found), oneLine(f.Advice)
	switch f.Level {
	case Fault:
		r.Faults++
		r.Level = Fault
	case Warning:
		r.Warnings++
		if r.Level == OK {
			r.Level = Warning
		}
	}
	r.Findings = append(r.Findings, f)
}

// maxText is the maximum length of a text in a finding, in characters.
const maxText = 600

// oneLine returns text in one line of bounded length, without characters that could disturb a
// terminal: errors may quote data from another program.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '�'
		}
		return r
	}, strings.TrimSpace(text))
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return text
}

// ANSI codes of the levels.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// codes returns the ANSI code of each level that is printed.
func codes() map[Level]string {
	return map[Level]string{OK: green, Warning: yellow, Fault: red, NotChecked: faint}
}

// A printer writes a report for people.
type printer struct {
	colored bool
	out     bytes.Buffer
}

// paint returns text in a color or style, if the report is colored.
func (p *printer) paint(code, text string) string {
	if !p.colored {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// WriteText writes the report for people: the findings by group, one line each with the advice
// below, then the checks that are not used, then the numbers of faults and warnings. Colored uses
// ANSI codes.
func (r *Report) WriteText(w io.Writer, colored bool) error {
	p := &printer{colored: colored}
	width := 0
	var unused []string
	for _, f := range r.Findings {
		if f.Level == NotUsed {
			unused = append(unused, f.Check)
			continue
		}
		width = max(width, utf8.RuneCountInString(f.Check))
	}
	group := ""
	for _, f := range r.Findings {
		if f.Level == NotUsed {
			continue
		}
		if f.Group != group {
			if group != "" {
				fmt.Fprintln(&p.out)
			}
			fmt.Fprintln(&p.out, p.paint(bold, strings.ToUpper(f.Group[:1])+f.Group[1:]))
			group = f.Group
		}
		level := strings.ReplaceAll(string(f.Level), "_", " ")
		fmt.Fprintf(&p.out, "  %s  %s  %s\n", p.paint(codes()[f.Level], fmt.Sprintf("%-11s", level)), fmt.Sprintf("%-*s", width, f.Check), f.Found)
		if f.Advice != "" {
			fmt.Fprintf(&p.out, "  %-11s  %*s  %s\n", "", width, "", f.Advice)
		}
	}
	if len(unused) > 0 {
		fmt.Fprintf(&p.out, "\n%s\n", p.paint(faint, "Not used: "+strings.Join(unused, ", ")))
	}
	fmt.Fprintf(&p.out, "\n%s\n", p.paint(bold, r.Summary()))
	_, err := w.Write(p.out.Bytes())
	return err
}

// Summary returns the numbers of findings that need attention, such as "1 fault, 2 warnings".
func (r *Report) Summary() string {
	return count(r.Faults, "fault") + ", " + count(r.Warnings, "warning")
}

// count returns a number of things, such as "no faults" or "1 fault".
func count(n int, thing string) string {
	switch n {
	case 0:
		return "no " + thing + "s"
	case 1:
		return "1 " + thing
	default:
		return fmt.Sprintf("%d %ss", n, thing)
	}
}
