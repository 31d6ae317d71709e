package report

import (
	"bytes"
	"fmt"
	"github.com/portico-commerce/portico/contracttests"
	"io"
	"strings"
)

// maxSummary is the largest summary in bytes: GitHub takes a mebibyte.
const maxSummary = 900 << 10

// title returns the cause with the number of its failures.
func (c *cause) title() string {
	return truncate(fmt.Sprintf("%s: %s", plural(len(c.Failures), "failure"), c.Text), maxPart)
}

// Markdown writes the report as a summary of a CI job: the counts, and for each cause of
// failures the first in full and the others by name.
func Markdown(w io.Writer, r *contracttests.Report) error {
	counts := newTally(r)
	verdict := counts.verdict()
	var b bytes.Buffer
	fmt.Fprintf(&b, "## Store REST contract: %s\n\n", verdict)
	fmt.Fprintf(&b, "%s in %.1f s, dialect %s, %s\n\n", counts, r.Took, inlineCode(string(r.Dialect)), inlineCode(r.URL))
	fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(newCoverage(r).String()))
	o := newOverview(r)
	var first terminal
	first.writeOverview(o)
	if text := strings.TrimSpace(first.String()); text != "" {
		b.WriteString(codeBlock(text))
	}
	causes := o.Causes
	for i := range causes {
		text := causes[i].markdown(r.Command)
		if b.Len()+len(text) > maxSummary {
			fmt.Fprintf(&b, "And %s more; the HTML report has them all.\n\n", plural(len(causes)-i, "cause"))
			break
		}
		b.WriteString(text)
	}
	if skips := skipReasons(r); len(skips) > 0 {
		b.WriteString("### Skipped\n\n")
		for _, s := range skips {
			fmt.Fprintf(&b, "- %d: %s\n", s.Count, escapeMarkdown(s.Text))
		}
		b.WriteString("\n")
	}
	if len(r.Leftovers) > 0 {
		b.WriteString("### Not deleted from the store\n\n" + codeBlock(strings.Join(printableLines(r.Leftovers), "\n")))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// markdown returns the cause as a section.
func (c *cause) markdown(command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", escapeMarkdown(c.title()))
	t := &terminal{}
	t.writeFailure(c.First(), command)
	b.WriteString(codeBlock(strings.TrimRight(t.String(), "\n")))
	if others := c.Failures[1:]; len(others) > 0 {
		fmt.Fprintf(&b, "<details><summary>The same in %s</summary>\n\n", plural(len(others), "other run"))
		for _, f := range others {
			fmt.Fprintf(&b, "- %s\n", inlineCode(f.ID()))
		}
		b.WriteString("\n</details>\n\n")
	}
	return b.String()
}

// codeBlock returns printable text as a fenced block that no text can end.
func codeBlock(text string) string {
	fence := strings.Repeat("`", max(3, longestBackticks(text)+1))
	return fence + "text\n" + text + "\n" + fence + "\n\n"
}

// inlineCode returns text as a code span on one line that no text can end.
func inlineCode(text string) string {
	text = printableLine(truncate(text, maxPart))
	ticks := strings.Repeat("`", longestBackticks(text)+1)
	return ticks + " " + text + " " + ticks
}

// longestBackticks returns the length of the longest sequence of backticks.
func longestBackticks(text string) int {
	longest, n := 0, 0
	for _, r := range text {
		if r != '`' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// escapeMarkdown returns text on one line without markup and links.
func escapeMarkdown(text string) string {
	var b strings.Builder
	for _, r := range printableLine(text) {
		if strings.ContainsRune("\\`*_{}[]()<>#+-!|~&@:$", r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
