package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// TestMarkdown checks the summary of a CI job: its content, and that no text of the server
// becomes markup.
func TestMarkdown(t *testing.T) {
	markdown := func(r *contracttests.Report) string {
		var b bytes.Buffer
		if err := report.Markdown(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	t.Run("content", func(t *testing.T) {
		r := smallReport()
		for range 2 {
			r.Results = append(r.Results, r.Results[1])
		}
		got := markdown(r)
		for _, want := range []string{
			"## Store REST contract: failed\n\n5 runs: 1 passed, 3 failed, 1 skipped", "```text\nCauses, with the number of runs that failed for each:\n           3  firstname: want Bea, got Ada (customers)\n```\n", "### 3 failures",
			"```text\nFAILED  customers/a/xml\n", "<details><summary>The same in 2 other runs</summary>\n\n- ` customers/a/xml `\n", "### Skipped\n\n- 1: no orders in the fixtures\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("lacks %q:\n%s", want, got)
			}
		}
	})
	t.Run("hostile", func(t *testing.T) {
		r := newSampler(t).hostileReport()
		r.Results[3].Failure.Expect = "```\n# heading\n````\n<script>"
		r.Results[4].Reason = "[link](https://evil.example) **bold** <b>"
		got := markdown(r)
		outside := regexp.MustCompile("(?s)(`{3,})text\n.*?\n(`{3,})\n\n").ReplaceAllStringFunc(got, func(block string) string {
			fence, _, _ := strings.Cut(block, "text\n")
			if strings.Count(block, fence) != 2 {
				t.Errorf("a text ends the block %q", block)
			}
			return ""
		})
		outside = regexp.MustCompile("` [^`\n]* `").ReplaceAllString(outside, "")
		for _, bad := range []string{"<script", "<b>", "](", "**", "<svg", "\x1b"} {
			if strings.Contains(outside, bad) {
				t.Errorf("%q is outside of code:\n%s", bad, outside)
			}
		}
	})
	t.Run("size", func(t *testing.T) {
		r := &contracttests.Report{}
		for i := range 400 {
			name := strings.Repeat("x", i+1)
			r.Results = append(r.Results, contracttests.Result{Name: name, Status: contracttests.Failed,
				Failure: &contracttests.Failure{Broken: name, Expect: strings.Repeat("y", 4000)}})
		}
		if got := markdown(r); len(got) > 1<<20 || !strings.Contains(got, " causes more; the HTML report has them all.") {
			t.Errorf("%d bytes, want at most a mebibyte, and a note", len(got))
		}
	})
}
