package contracttests

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// An htmlPage holds the text that a person reads on an HTML page, and the forms.
type htmlPage struct {
	text  string // with single blanks, without scripts and styles
	forms []htmlForm
}

// An htmlForm is a form of a page.
type htmlForm struct {
	id, action, method string
	fields             url.Values // with the values that the page sets
}

// parsePage reads an HTML page as browsers do: any text is a page.
func parsePage(text string) htmlPage {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil { // only if reading fails
		return htmlPage{}
	}
	var p htmlPage
	var words []string
	form := -1
	// Descendants yields a form before its fields.
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style" && n.Parent.Data != "title":
			words = append(words, strings.Fields(n.Data)...)
		case n.Type != html.ElementNode:
		case n.Data == "form":
			method := "GET"
			if strings.EqualFold(attribute(n, "method"), "post") {
				method = "POST"
			}
			p.forms = append(p.forms, htmlForm{attribute(n, "id"), attribute(n, "action"), method, url.Values{}})
			form = len(p.forms) - 1
		case n.Data == "input" && form >= 0 && attribute(n, "name") != "" && isInside(n, "form"):
			if kind := strings.ToLower(attribute(n, "type")); kind != "submit" && kind != "button" && kind != "image" && kind != "reset" {
				p.forms[form].fields.Add(attribute(n, "name"), attribute(n, "value"))
			}
		}
	}
	p.text = strings.Join(words, " ")
	return p
}

// attribute returns the value of an attribute, or "".
func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// isInside reports whether an element is inside another one of this name.
func isInside(n *html.Node, name string) bool {
	for ancestor := range n.Ancestors() {
		if ancestor.Data == name {
			return true
		}
	}
	return false
}

// formWith returns the first form with all these fields.
func (p *htmlPage) formWith(names ...string) (htmlForm, error) {
	for _, f := range p.forms {
		if !slices.ContainsFunc(names, func(name string) bool { return !f.fields.Has(name) }) {
			return f, nil
		}
	}
	return htmlForm{}, fmt.Errorf("the page has no form with the fields %s", strings.Join(names, ", "))
}

// formWithID returns the form with an id.
func (p *htmlPage) formWithID(id string) (htmlForm, error) {
	for _, f := range p.forms {
		if f.id == id {
			return f, nil
		}
	}
	return htmlForm{}, fmt.Errorf("the page has no form with the id %s", id)
}
