package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// TestGitHub checks that the log has one error for each cause, as the only commands that
// GitHub obeys.
func TestGitHub(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    *contracttests.Report
		want []string // beginnings of the errors
	}{
		{"failed", smallReport(), []string{"::error title=1 failure%3A firstname%3A want Bea%2C got Ada::FAILED  customers/a/xml%0A  step 2"}},
		{"passed", newSampler(t).newReport(8, true), nil},
		{"hostile", hostileCommands(), []string{"::error title=1 failure%3A "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := report.GitHub(&b, tt.r, false); err != nil {
				t.Fatal(err)
			}
			var got []string
			stopped := ""
			for line := range strings.Lines(b.String()) {
				// As the runner does, which ignores leading blanks.
				line = strings.TrimSpace(line)
				switch token, isStop := strings.CutPrefix(line, "::stop-commands::"); {
				case stopped != "" && line == "::"+stopped+"::":
					stopped = ""
				case stopped != "":
				case isStop:
					stopped = token
				case strings.HasPrefix(line, "::") || strings.Contains(line, "##["):
					got = append(got, line)
				default:
					t.Errorf("text where commands are obeyed: %q", line)
				}
			}
			if len(got) != len(tt.want) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tt.want[i]) {
					t.Errorf("got %q, want %q…", got[i], tt.want[i])
				}
			}
		})
	}
}

// hostileCommands returns a report of a server that sends commands to GitHub.
func hostileCommands() *contracttests.Report {
	r := smallReport()
	const command = "a,b:c%0A::add-mask::x\n::stop-commands::y\r\n  ::error::z"
	r.Results[1].Name = command
	r.Results[1].Failure = &contracttests.Failure{Step: 1, Call: command, Expect: command, Differences: []contracttests.Difference{{Where: command, Want: command, Got: "x"}}}
	return r
}

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
			"## Store REST contract: failed\n\n5 runs: 1 passed, 3 failed, 1 skipped", "### 3 failures",
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
