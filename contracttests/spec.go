package contracttests

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// SpecRepository is the URL of the folder of the pages in the project's public repository.
const SpecRepository = "https://github.com/portico-commerce/portico/blob/main/contracttests/spec/"

//go:embed spec/*.md
var embeddedSpec embed.FS

// specPages returns the pages of the specification, in the root of a file system.
func specPages() fs.FS {
	folder, err := fs.Sub(embeddedSpec, "spec")
	if err != nil {
		panic(err) // only for an invalid path
	}
	return folder
}

// A Section is a numbered section of a page.
type Section struct {
	Page   string // name of the file without ".md"
	Number string // "6.5"
	Title  string // without the number, in Markdown
	Anchor string // URL fragment of the heading on GitHub
}

// Citation returns the text that cites the section, such as "wire 6.5".
func (s Section) Citation() string { return s.Page + " " + s.Number }

// URL returns the URL of the section in the project's public repository.
func (s Section) URL() string { return SpecRepository + s.Page + ".md#" + s.Anchor }

// A Spec is the parsed specification. It is safe for concurrent use.
type Spec struct {
	sections map[string]Section // by citation
	citation *regexp.Regexp
	number   *regexp.Regexp
}

// LoadSpec parses the pages that are built into the program. It returns an error if a heading
// below a page's title has no number, or the number of another heading of the page.
func LoadSpec() (*Spec, error) { return loadSpec(specPages()) }

// loadSpec is LoadSpec for the pages in the root of a file system.
func loadSpec(pages fs.FS) (*Spec, error) {
	files, err := fs.Glob(pages, "*.md")
	if err != nil {
		return nil, err
	}
	s := &Spec{sections: map[string]Section{}}
	var cited []string
	for _, file := range files {
		text, err := fs.ReadFile(pages, file)
		if err != nil {
			return nil, err
		}
		page := strings.TrimSuffix(file, ".md")
		if page != "README" { // README describes the specification and is not cited
			cited = append(cited, page)
		}
		for _, h := range headings(string(text)) {
			if h.level == 1 {
				continue
			}
			number, title, _ := strings.Cut(h.text, " ")
			number, dotted := strings.CutSuffix(number, ".")
			one := Section{page, number, title, h.anchor}
			if !isNumber(number) || dotted != (h.level == 2) || strings.Count(number, ".") != h.level-2 {
				return nil, fmt.Errorf("%s: heading %q has no number of its level, such as 6., 6.5 or 6.5.1", file, h.text)
			}
			if _, ok := s.sections[one.Citation()]; ok {
				return nil, fmt.Errorf("%s: two headings have the number %s", file, number)
			}
			s.sections[one.Citation()] = one
		}
	}
	const number = `[0-9]+(?:\.[0-9]+)*`
	s.number = regexp.MustCompile(number)
	s.citation = regexp.MustCompile(`\b(` + strings.Join(cited, "|") + `) (` + number + `(?:(?:, and |, or |, | and | or | to )` + number + `)*)\b`)
	return s, nil
}

// isNumber reports whether s consists of digits and periods.
func isNumber(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '.' && !unicode.IsDigit(r) })
}

// Find returns the section that a citation such as "wire 6.5" names, and whether it
// exists.
func (s *Spec) Find(citation string) (Section, bool) {
	one, ok := s.sections[citation]
	return one, ok
}

// Citations returns the citations in a text, each once and in order, including citations
// of sections that do not exist. A list such as "products 3.6, 3.8 and 3.9" contains
// three citations.
func (s *Spec) Citations(text string) []string {
	var all []string
	for _, found := range s.citation.FindAllStringSubmatch(text, -1) {
		for _, number := range s.number.FindAllString(found[2], -1) {
			if one := found[1] + " " + number; !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// A heading is a heading of a page.
type heading struct {
	level  int
	text   string
	anchor string
}

// headings returns the headings of a Markdown page, without headings in code blocks.
// Repeated anchors get the suffixes -1, -2 and so on, as on GitHub.
func headings(page string) []heading {
	var all []heading
	seen := map[string]int{}
	inCode := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		marks, text, ok := strings.Cut(line, " ")
		if inCode || !ok || marks == "" || strings.Trim(marks, "#") != "" {
			continue
		}
		h := heading{len(marks), text, anchor(text)}
		n := seen[h.anchor]
		seen[h.anchor]++
		if n > 0 {
			h.anchor = fmt.Sprintf("%s-%d", h.anchor, n)
		}
		all = append(all, h)
	}
	return all
}

// anchor returns the fragment that GitHub gives a heading.
func anchor(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, text)
}

//go:embed clauses.json
var clausesJSON []byte

// A clause is one statement of the contract document that a case can test: a list of
// fields, a row of a table, a convention or an error message. It may also be a behavior
// of the original on which the document is silent.
type clause struct {
	Name    string `json:"name"`    // unique
	Section string `json:"section"` // of the specification, such as "contract 5.2"
	Access  string `json:"access"`  // read or write
	Says    string `json:"says"`    // in a few words
	// Fields is set for a clause that lists the fields of a record. AlsoReturned are fields
	// that are returned with them although the document does not list them.
	Fields       []string `json:"fields"`
	AlsoReturned []string `json:"also_returned"`
	// Message and Status are set for a row of a table of errors. The message may contain
	// placeholders in angle brackets.
	Message string `json:"message"`
	Status  string `json:"status"`
	// Call, Field and Required are set for a row of a table of request fields. A field of a
	// nested record is written RECORD/FIELD.
	Call     string `json:"call"`
	Field    string `json:"field"`
	Required bool   `json:"required"`
	// Untestable is the reason why no case can test the clause; empty if one can.
	Untestable string `json:"unshown"`
}

// rows returns how many rows of the document's tables the clause stands for.
func (c *clause) rows() int { return max(1, len(c.Fields)) }

// loadClauses returns the clauses of clauses.json, in order.
func loadClauses() ([]clause, error) {
	dec := json.NewDecoder(bytes.NewReader(clausesJSON))
	dec.DisallowUnknownFields()
	var all []clause
	return all, dec.Decode(&all)
}
