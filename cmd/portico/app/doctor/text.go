package doctor

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

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
