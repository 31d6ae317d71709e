package reststore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-resty/resty/v2"
	"github.com/itchyny/gojq"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
)

// A graphqlConnection configures GraphQL requests.
type graphqlConnection struct {
	Path      *template `need:"true"` // of all GraphQL requests
	Fragments *fragments
}

// fragments are fragment definitions for all documents.
type fragments struct {
	text   string
	parsed expr.Fragments
	err    error
}

// An operation is the GraphQL document of a request.
type operation struct {
	text string
	*expr.Document
	required []string       // variables that must not be null
	repeated *expr.Repeated // nil unless the request has aliases
}

// UnmarshalText sets the text. check parses it.
func (f *fragments) UnmarshalText(text []byte) error {
	f.text = string(text)
	return requireDocument(f.text)
}

// UnmarshalText sets the text. check parses it.
func (o *operation) UnmarshalText(text []byte) error {
	o.text = string(text)
	return requireDocument(o.text)
}

func requireDocument(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("must be a GraphQL document")
	}
	return nil
}

// reads reports whether a request changes nothing at the backend, so that it can be repeated.
func (r *request) reads() bool {
	if r.GraphQL != nil {
		return r.GraphQL.IsQuery()
	}
	return r.Method == http.MethodGet
}

// setDocument evaluates the variables of a GraphQL request. With aliases, the first variable
// of expressions has the ids, and the second is each of the ids in turn.
func (m *preparedRequest) setDocument(ctx context.Context, input any, variables ...any) error {
	m.document, m.variables = m.GraphQL.Text(), map[string]any{}
	repeated := m.GraphQL.repeated
	if repeated == nil {
		return m.setVariables(ctx, func(name string) string { return name }, input, variables...)
	}
	ids, _ := variables[0].([]any)
	m.document, m.repetitions = repeated.Text(len(ids)), len(ids)
	for i, id := range ids {
		if err := m.setVariables(ctx, func(name string) string { return repeated.Variable(name, i) }, input, ids, id); err != nil {
			return err
		}
	}
	return nil
}

// setVariables evaluates the variables of a document; rename changes their names.
func (m *preparedRequest) setVariables(ctx context.Context, rename func(string) string, input any, variables ...any) error {
	for name, e := range m.Variables {
		v, err := e.eval(ctx, input, variables...)
		if err != nil {
			return err
		}
		switch {
		case v != nil:
			m.variables[rename(name)] = v
		case slices.Contains(m.GraphQL.required, name):
			return fmt.Errorf("%s: the variable %s is null, which the document does not allow", e.at, name)
		}
	}
	return nil
}

// graphqlFields returns the fields of a form that uploads the file, whose field is a variable:
// the fields of the GraphQL multipart request convention. body is the body of the request
// without it.
func (f *file) graphqlFields(body []byte) []*resty.MultipartField {
	positions, _ := gojq.Marshal(map[string]any{"0": []any{"variables." + f.field}})
	return []*resty.MultipartField{
		{Param: "operations", ContentType: "application/json", Reader: strings.NewReader(string(body))},
		{Param: "map", ContentType: "application/json", Reader: strings.NewReader(string(positions))},
		{Param: "0", FileName: f.name, ContentType: f.mediaType, Reader: strings.NewReader(f.content)},
	}
}

// check sets the connection in the loader.
func (g *graphqlConnection) check(l *loader, _ place) { l.graphql = g }

func (f *fragments) check(l *loader, p place) {
	if f.parsed, f.err = expr.ParseFragments(f.text); f.err != nil {
		l.reportDocument(p, f.err)
	}
}

// fragments returns the fragments for all documents, or the error of parsing them.
func (g *graphqlConnection) fragments() (expr.Fragments, error) {
	if g == nil || g.Fragments == nil {
		return nil, nil
	}
	return g.Fragments.parsed, g.Fragments.err
}

func (o *operation) check(l *loader, p place) {
	shared, err := l.graphql.fragments()
	if err != nil {
		return // reported already
	}
	if o.Document, err = expr.Parse(o.text, shared); err != nil {
		l.reportDocument(p, err)
	}
}

// reportDocument records a fault of the GraphQL document at p.
func (l *loader) reportDocument(p place, err error) {
	p.Line = p.Node.Line
	if known, ok := errors.AsType[*expr.Error](err); ok {
		p.Line = p.LineOf(known.Line)
	}
	l.Fault(p, "is not a valid GraphQL document: %v", err)
}

// checkGraphQL checks a GraphQL request whose document gets variables with these names, in
// addition to its own in the mapping.
func (l *loader) checkGraphQL(p place, r *request, more []string) {
	for _, name := range []string{"method", "path", "query", "body"} {
		l.Require(!p.In(name).IsSet(), p.In(name), "must not be used together with graphql")
	}
	at := p.In("graphql")
	l.Require(l.graphql != nil, at, "needs connection.graphql, with the path of GraphQL requests")
	r.Method = http.MethodPost
	if l.graphql == nil || l.graphql.Path.code == nil || r.GraphQL.Document == nil {
		return // reported already
	}
	r.name = r.GraphQL.Name()
	r.Path = l.graphql.Path
	var declared []string
	for _, v := range r.GraphQL.Document.Variables() {
		declared = append(declared, v.Name)
		given := r.Variables[v.Name] != nil || slices.Contains(more, v.Name)
		if v.Required {
			r.GraphQL.required = append(r.GraphQL.required, v.Name)
			l.Require(given, at, "declares $%.40s, which must not be null: add it to variables", v.Name)
		}
	}
	for name, p := range p.In("variables").Members() {
		l.Require(slices.Contains(declared, name), p, "is not declared by the document")
	}
	for _, name := range more {
		l.Require(name == "" || slices.Contains(declared, name), at, "does not declare $%.40s, which another member names", name)
	}
}

// checkDataPaths checks that paths in a GraphQL response, which p may have, begin with data.
func (l *loader) checkDataPaths(p place, names ...string) {
	for _, name := range names {
		if at := p.In(name); at.IsSet() {
			l.Require(strings.HasPrefix(at.Node.Value+".", "data."), at, "must begin with data., as it is in a GraphQL response")
		}
	}
}

// checkAliases checks a query that is repeated for each id, and prepares it.
func (l *loader) checkAliases(p place, g *documentRequest) {
	l.Require(p.Count("items", "item", "documents") == 0, p, "must not have items, item or documents, because aliases says where the documents are")
	l.Require(g.GraphQL != nil, p.In("aliases"), "needs graphql")
	if g.GraphQL == nil || g.GraphQL.Document == nil {
		return
	}
	var err error
	if g.GraphQL.repeated, err = g.GraphQL.Repeat(); err != nil {
		l.Fault(p.In("graphql"), "%v", err)
	}
}

// parameters returns the names of the parameters that pages add.
func (g *pages) parameters() (names []string) {
	if g == nil {
		return nil
	}
	names = []string{g.Limit, g.Offset, g.Page}
	if g.Cursor != nil {
		names = append(names, g.Cursor.Query)
	}
	return names
}
