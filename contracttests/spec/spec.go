// Package spec holds the specification of the REST interface that Portico serves,
// and resolves citations of its sections.
//
// The specification is the Markdown pages beside this file; README.md says which page
// rules in which dialect and how sections are cited. Comments, clauses, cases and
// reports cite a section by page and number, such as "wire 6.5". The package finds
// such citations in a text and tells where on the web the section is.
//
// # How it is tested
//
// One test parses the pages: every heading below the title has a number of its own, and
// every link leads to a file, and to a heading if it names one. Another one reads the
// Go comments, the Markdown and YAML files and the clauses of the whole repository, and
// fails for a citation that resolves to no section or is written in another form.
package spec

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Repository is the address of the pages in the project's public repository.
const Repository = "https://github.com/portico-commerce/portico/blob/main/contracttests/spec/"

//go:embed *.md
var pages embed.FS

// A Section is a numbered section of a page.
type Section struct {
	Page   string // name of the file, without ".md"
	Number string // "6.5"
	Title  string // without the number, in Markdown
	Anchor string // fragment that GitHub gives the heading
}

// Citation returns what the section is cited as, such as "wire 6.5".
func (s Section) Citation() string { return s.Page + " " + s.Number }

// URL returns the address of the section in the project's public repository.
func (s Section) URL() string { return Repository + s.Page + ".md#" + s.Anchor }

// A Spec is the specification, parsed. It is safe for concurrent use.
type Spec struct {
	sections map[string]Section // by citation
	citation *regexp.Regexp
	number   *regexp.Regexp
}

// Load parses the pages that are built into the program. It fails for a heading below a
// page's title that has no number, or has that of another one.
func Load() (*Spec, error) { return load(pages) }

func load(pages fs.FS) (*Spec, error) {
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
		if page != "README" { // which is about the specification, and no part of it
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

func isNumber(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '.' && !unicode.IsDigit(r) })
}

// Find returns the section that a citation such as "wire 6.5" names.
func (s *Spec) Find(citation string) (Section, bool) {
	one, ok := s.sections[citation]
	return one, ok
}

// Citations returns the citations in a text, each once and in order, whether or not
// there are such sections. A list such as "products 3.6, 3.8 and 3.9" has three.
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

// A heading is one of a page.
type heading struct {
	level  int
	text   string
	anchor string
}

// headings returns the headings of a page in Markdown, outside of code blocks.
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
