package openapi

import (
	"bytes"
	_ "embed" // the templates
	"encoding/json"
	"html/template"
	"slices"
	"strings"
)

//go:embed reference.html
var source string

// ReferenceParts are the contents of two pages.
type ReferenceParts struct{ Calls, Differences template.HTML }

// A Difference is a behavior that the dialects disagree on.
type Difference struct {
	Number              int
	Says                string // the behavior
	Section             string // of the specification
	Documented, Magento string
	OpenMage            string // "" if it is as in Magento
}

// RenderReference returns the pages of a document, and of all differences.
func RenderReference(doc *Document, differences []Difference) (*ReferenceParts, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"words": Words, "upper": strings.ToUpper, "join": strings.Join, "views": viewsText, "name": schemaName,
	}).Parse(source)
	if err != nil {
		return nil, err
	}
	resources := resourcesOf(doc)
	var calls, dialects bytes.Buffer
	if err := t.ExecuteTemplate(&calls, "calls", map[string]any{"Document": doc, "Resources": resources, "Records": recordsOf(doc)}); err != nil {
		return nil, err
	}
	if err := t.ExecuteTemplate(&dialects, "differences", map[string]any{"Dialect": doc.Info.Dialect.Name, "Differences": differences}); err != nil {
		return nil, err
	}
	// The template has escaped all foreign texts.
	return &ReferenceParts{template.HTML(calls.String()), template.HTML(dialects.String())}, nil // #nosec G203
}

// A resource has the calls with one tag.
type resource struct {
	Name  string
	Calls []*call
}

// A call is one call of the interface, on all its paths.
type call struct {
	*Operation
	Method     string
	Paths      []string
	Parameters []*Parameter
	// Body and Answers name the schemas of the bodies in JSON.
	Body           string
	Answers        []string
	Request, Reply string // examples
}

// resourcesOf returns the calls of a document.
func resourcesOf(doc *Document) []*resource {
	var all []*resource
	for path, item := range doc.Paths.All() {
		for method, op := range item.Operations() {
			at := slices.IndexFunc(all, func(r *resource) bool { return r.Name == op.Tags[0] })
			if at < 0 {
				at = len(all)
				all = append(all, &resource{Name: op.Tags[0]})
			}
			all[at].add(doc, path, method, item, op)
		}
	}
	return all
}

// add adds a path of a call.
func (r *resource) add(doc *Document, path, method string, item *PathItem, op *Operation) {
	at := slices.IndexFunc(r.Calls, func(c *call) bool { return c.Call == op.Call })
	if at < 0 {
		at = len(r.Calls)
		r.Calls = append(r.Calls, &call{Operation: op, Method: method})
	}
	c := r.Calls[at]
	c.Paths = append(c.Paths, path)
	for _, p := range slices.Concat(item.Parameters, op.Parameters) {
		if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
			p, _ = doc.Components.Parameters.Get(name)
		}
		if !slices.ContainsFunc(c.Parameters, func(known *Parameter) bool { return known.Name == p.Name && known.In == p.In }) {
			c.Parameters = append(c.Parameters, p)
		}
	}
	if op.RequestBody != nil {
		c.Body, c.Request = inJSON(op.RequestBody.Content, c.Body, c.Request)
	}
	for _, response := range op.Responses.All() {
		if response.Ref != "" {
			continue
		}
		var name string
		name, c.Reply = inJSON(response.Content, "", c.Reply)
		if name != "" && !slices.Contains(c.Answers, name) {
			c.Answers = append(c.Answers, name)
		}
	}
}

// inJSON returns the name of the schema of a body in JSON and an example of it, unless the
// content has none: then it returns name and example.
func inJSON(content Map[*MediaType], name, example string) (string, string) {
	m, ok := content.Get("application/json")
	if !ok {
		return name, example
	}
	if raw, ok := m.Example.(json.RawMessage); ok && example == "" {
		var b bytes.Buffer
		if json.Indent(&b, raw, "", "  ") == nil {
			example = b.String()
		}
	}
	return schemaName(m.Schema), example
}

// schemaName returns the name of the component that a schema refers to, or "".
func schemaName(s *Schema) string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// A referenceRecord is a schema with fields or with alternatives.
type referenceRecord struct {
	Name string
	*Schema
}

// recordsOf returns the schemas that calls lead to.
func recordsOf(doc *Document) []referenceRecord {
	var all []referenceRecord
	for name, s := range doc.Components.Schemas.All() {
		all = append(all, referenceRecord{name, s})
	}
	return all
}

// viewsText describes the views in which a role sees a field.
func viewsText(views []string) string {
	if len(views) == 0 {
		return "by attrs"
	}
	return strings.Join(views, ", ")
}
