package contracttests

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// mustLoad returns the specification.
func mustLoad(t *testing.T) *Spec {
	t.Helper()
	s, err := LoadSpec()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFind checks which citations name a section.
func TestFind(t *testing.T) {
	s := mustLoad(t)
	got, ok := s.Find("wire 6.5")
	want := Section{"wire", "6.5", "Empty and odd bodies (POST, PUT)", "65-empty-and-odd-bodies-post-put"}
	if !ok || got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if want := SpecRepository + "wire.md#65-empty-and-odd-bodies-post-put"; got.URL() != want || got.Citation() != "wire 6.5" {
		t.Errorf("%s is at %s, want %s", got.Citation(), got.URL(), want)
	}
	for _, citation := range []string{"", "wire", "wire 99", "wire 6.5.", "Wire 6", "wire  6", "README.md 1"} {
		if got, ok := s.Find(citation); ok {
			t.Errorf("%q is %+v", citation, got)
		}
	}
}

// TestCitations checks which citations are found in a text.
func TestCitations(t *testing.T) {
	s := mustLoad(t)
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"wire 6.5", []string{"wire 6.5"}},
		{"contract 5.4 (stock_data); products 7.2", []string{"contract 5.4", "products 7.2"}},
		{"as in products 3.6, 3.8 and 3.9.", []string{"products 3.6", "products 3.8", "products 3.9"}},
		{"wire 5 or 6.1, and customers 1", []string{"wire 5", "wire 6.1", "customers 1"}},
		{"wire 6.2 to 6.4, rulings 9, and 10", []string{"wire 6.2", "wire 6.4", "rulings 9", "rulings 10"}},
		{"wire 12, check 8b; wire 12", []string{"wire 12"}},
		{"product_parts 2.3", []string{"product_parts 2.3"}},
		{"wire 999.1", []string{"wire 999.1"}},
		{"[wire 1](wire.md#1-order-of-checks)", []string{"wire 1"}},
		{"README 1, hardwire 4, wire 8b, wires 2, Wire 3, my_products 4", nil},
	} {
		if diff := cmp.Diff(tt.want, s.Citations(tt.text)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", tt.text, diff)
		}
	}
}

// TestHeadingNumbers checks that headings without a number of their level, or with the
// number of another one, are refused.
func TestHeadingNumbers(t *testing.T) {
	for _, tt := range []struct{ page, want string }{
		{"# Page\n\n## 1. One\n\n### 1.1 Two\n\n#### 1.1.1 Three\n\n## 0. None\n\n```\n# code\n## code\n```\n", ""},
		{"# Page\n## One\n", `x.md: heading "One" has no number`},
		{"# Page\n## 1 One\n", `x.md: heading "1 One" has no number`},
		{"# Page\n### 1.1. One\n", `x.md: heading "1.1. One" has no number`},
		{"# Page\n### 1 One\n", `x.md: heading "1 One" has no number`},
		{"# Page\n## 1. One\n## 1. Two\n", "x.md: two headings have the number 1"},
	} {
		_, err := loadSpec(fstest.MapFS{"x.md": {Data: []byte(tt.page)}})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%q: %v, want %s", tt.page, err, tt.want)
		}
	}
}

// TestAnchors checks the anchors of headings.
func TestAnchors(t *testing.T) {
	var got []string
	for _, h := range headings("# `A_b`: c, (d/e) – f\n## 1. Twice\n### 1.1 PUT /x/:id\n## 1. Twice\n") {
		got = append(got, h.anchor)
	}
	if diff := cmp.Diff([]string{"a_b-c-de--f", "1-twice", "11-put-xid", "1-twice-1"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLinks checks that every link of a page leads to an existing file and heading, and
// that a link whose text is a citation leads to the cited section.
func TestLinks(t *testing.T) {
	s := mustLoad(t)
	anchors := map[string][]string{} // by file
	texts := map[string]string{}
	files, err := fs.Glob(specPages(), "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(specPages(), file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
		for _, h := range headings(string(text)) {
			anchors[file] = append(anchors[file], h.anchor)
		}
	}
	link := regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	checked := 0
	for _, file := range files {
		for _, found := range link.FindAllStringSubmatch(strings.ReplaceAll(texts[file], "\n", " "), -1) {
			u, err := url.Parse(found[2])
			if err != nil || u.Scheme != "" {
				continue // a filter, or another site
			}
			checked++
			to := u.Path
			if to == "" {
				to = file
			}
			_, isPage := texts[to]
			if _, err := os.Stat(filepath.FromSlash(path.Join("spec", to))); !isPage && err != nil {
				t.Errorf("%s: %s leads to no file", file, found[0])
			}
			if u.Fragment != "" && !slices.Contains(anchors[to], u.Fragment) {
				t.Errorf("%s: %s leads to no heading", file, found[0])
			}
			if cited, ok := s.Find(found[1]); ok && (cited.Page+".md" != to || cited.Anchor != u.Fragment) {
				t.Errorf("%s: %s leads to another section than %s.md#%s", file, found[0], cited.Page, cited.Anchor)
			}
		}
	}
	if checked < 300 {
		t.Errorf("%d links: some are missing", checked)
	}
}
