package reststore

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"golang.org/x/net/http/httpguts"
)

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// checkName reports whether a name at p is plain or missing.
func (l *loader) checkName(p place, name string) bool {
	plain := name == "" && !p.IsSet() || namePattern.MatchString(name)
	l.Require(plain, p, "must consist of lower-case letters, digits and underscores")
	return plain
}

// reserved are names that variables must not have: jq's own and the names of variables that differ
// from call to call.
var reserved = []string{"ids", "id", "key", "since", "view", "item", "user", "secret", "ENV", "__loc__"}

// variables are the variables of the file, for the expressions after them.
type variables map[string]string

// check adds the variables to the compiler, with the values of the settings.
func (v *variables) check(l *loader, p place) {
	for name, p := range p.Members() {
		if slices.Contains(reserved, name) {
			l.Fault(p, "is reserved: choose another name")
		} else if l.checkName(p, name) {
			value := (*v)[name]
			if override, ok := l.options.Vars[name]; ok {
				value = override
			}
			l.constants = append(l.constants, variable{name, value})
		}
	}
}

// UnmarshalText sets the text of the expression. check compiles it.
func (e *expression) UnmarshalText(text []byte) error {
	if e.text = string(text); strings.TrimSpace(e.text) == "" {
		return errors.New("must be a jq expression")
	}
	return nil
}

func (e *expression) check(l *loader, p place) { l.compile(p, e, e.text) }

// compile compiles the expression at p from program, which stands for its text.
func (l *loader) compile(p place, e *expression, program string) {
	e.at = l.At(p.Node.Line)
	if err := l.compiler.compile(e, program, strings.Fields(p.Tag("vars"))); err != nil {
		l.reportSyntax(p, err)
	}
}

// reportSyntax records an error of compiling the text at p.
func (l *loader) reportSyntax(p place, err error) {
	p.Line = p.Node.Line
	var syntax *gojq.ParseError
	if text := p.Node.Value; errors.As(err, &syntax) {
		p.Line = p.LineOf(1 + strings.Count(text[:min(syntax.Offset, len(text))], "\n"))
	}
	problem := err.Error()
	if strings.HasPrefix(problem, "variable not defined") {
		problem += "; available: " + cmp.Or(strings.Join(l.available(strings.Fields(p.Tag("vars"))), ", "), "none")
	}
	l.Fault(p, "is not a valid jq expression: %s", problem)
}

// definitions are jq functions for the expressions after them.
type definitions string

func (d *definitions) check(l *loader, p place) {
	text := string(*d)
	query, err := gojq.Parse(text)
	switch {
	case err != nil:
	case query.Term != nil, query.Right != nil, len(query.FuncDefs) == 0:
		l.Fault(p, "must contain only definitions, such as def cents: . * 100;")
	default:
		if err = l.compiler.compile(&expression{}, text+" .", nil); err == nil {
			l.functions = query.FuncDefs
		}
	}
	if err != nil {
		l.reportSyntax(p, err)
	}
}

// A template is a URL path with jq expressions in braces. It is compiled to one expression:
// "/a/{.id}" to "/a/" + (.id | _segment).
type template struct{ expression }

func (t *template) check(l *loader, p place) {
	if !strings.HasPrefix(t.text, "/") || strings.ContainsAny(t.text, " \t\r\n") && !strings.Contains(t.text, "{") {
		l.Fault(p, "must begin with a slash and is relative to rest.url, such as /items/{.id}")
		return
	}
	if program := l.interpolate(p, t.text, " | _segment"); program != nil {
		l.compile(p, &t.expression, strings.Join(program, " + "))
	}
}

// interpolate returns jq programs for the pieces of a text with expressions in braces; escape
// follows each expression. It returns nil, and reports the reason, for an invalid text.
func (l *loader) interpolate(p place, text, escape string) (program []string) {
	for rest, found := text, true; found; {
		var literal string
		if literal, rest, found = strings.Cut(rest, "{"); escape != "" && strings.ContainsAny(literal, "?#}") {
			l.Fault(p, "must not contain ?, # or }: write parameters under query")
			return nil
		}
		if quoted, _ := json.Marshal(literal); literal != "" {
			program = append(program, string(quoted))
		}
		if found {
			end, err := expressionEnd(rest)
			if err != nil {
				l.reportSyntax(p, err)
				return nil
			}
			// The line break ends a comment.
			program, rest = append(program, "("+rest[:end]+"\n"+escape+")"), rest[end+1:]
		}
	}
	return program
}

// A headerText is the value of a header, with jq expressions in braces. A single expression that is
// null omits the header.
type headerText struct{ expression }

func (t *headerText) check(l *loader, p place) {
	program := l.interpolate(p, t.text, "")
	for i := range program {
		if len(program) > 1 {
			program[i] = "(" + program[i] + " | tostring)"
		}
	}
	if program != nil {
		l.compile(p, &t.expression, strings.Join(program, " + "))
	}
}

// expressionEnd returns the index of the brace that ends the expression at the beginning of text.
// Braces inside of the expression do not end it, because the text up to there is not valid.
func expressionEnd(text string) (end int, err error) {
	err = errors.New("there is a { without a matching }")
	for end, c := range text {
		if c == '}' {
			if _, err = gojq.Parse(text[:end]); err == nil {
				return end, nil
			}
		}
	}
	return 0, err
}

// checkKeys reports keys of the objects that the expression at p constructs that are not in names,
// as far as they are known without running it.
func (l *loader) checkKeys(p place, e *expression, names map[string]bool, more ...string) {
	if e == nil {
		return
	}
	allowed := append(more, slices.Sorted(maps.Keys(names))...)
	var keys expr.Keys
	keys.Add(e.query, 0)
	for _, key := range keys.Names {
		l.Require(slices.Contains(allowed, key), p, "returns %.40q, which is not one of %s", key, strings.Join(allowed, ", "))
	}
}

func (m *mapping) check(l *loader, p place) {
	l.checkName(p.In("name"), m.Name)
	for _, name := range slices.Sorted(maps.Keys(l.options.Vars)) {
		if _, known := m.Vars[name]; !known {
			l.FaultAt(0, "has no variable %.40q, which rest.vars sets; it has %s", name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(m.Vars)), ", "), "none"))
		}
	}
	l.checkResources(p.In("resources"), m)
}

func (r *rule) check(l *loader, p place) {
	l.Require(r.Kind != nil || !r.AnyStatus, p, "needs kind, because it has any_status")
}

// check sets the fixed header.
func (a *auth) check(l *loader, p place) {
	l.Require(p.Count("basic", "bearer", "header", "login") <= 1, p, "must have at most one of basic, bearer, header, login")
	l.Require(p.Count("basic", "bearer", "header", "oauth1") <= 1, p, "must have oauth1 alone or together with login")
	if isPair := strings.Contains(l.options.User, ":"); a.Login != nil && isPair && a.OAuth1 != nil {
		a.Login = nil
	} else if a.Login != nil {
		a.OAuth1 = nil
	}
	switch {
	case a.OAuth1 != nil:
		a.OAuth1.setCredentials(l, p.In("oauth1"))
	case a.Basic != nil:
		basic := p.In("basic")
		pair := l.expandSettings(basic.In("user"), a.Basic.User) + ":" + l.expandSettings(basic.In("password"), a.Basic.Password)
		a.fixed = &header{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))}
	case p.In("bearer").IsSet():
		a.fixed = &header{"Authorization", "Bearer " + l.expandSettings(p.In("bearer"), a.Bearer)}
	case a.Header != nil:
		a.fixed = &header{a.Header.Name, l.expandSettings(p.In("header").In("value"), a.Header.Value)}
	}
	if a.fixed != nil {
		l.checkHeader(p, a.fixed.Name, a.fixed.Value)
	}
}

// expandSettings returns the text at p with $user and $secret replaced by their settings.
func (l *loader) expandSettings(p place, text string) string {
	for name, value := range map[string]string{"user": l.options.User, "secret": l.options.Secret} {
		l.Require(value != "" || !strings.Contains(text, "$"+name), p, "uses the setting rest.%s, which is empty", name)
	}
	return strings.NewReplacer("$user", l.options.User, "$secret", l.options.Secret).Replace(text)
}

func (l *loader) checkHeader(p place, name, value string) {
	l.Require(httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value), p, "is not a valid header with the name %.40q", name)
}

func (h *headers) check(l *loader, p place) {
	for name, value := range *h {
		l.checkHeader(p.In(name), name, value)
	}
}

func (r *request) check(l *loader, p place) { r.checkWith(l, p) }

// checkWith checks a request that gets further parameters with these names.
func (r *request) checkWith(l *loader, p place, parameters ...string) {
	r.at = l.At(p.Line)
	for name := range r.Headers {
		l.checkHeader(p.In("headers").In(name), name, "")
	}
	if r.GraphQL != nil {
		l.checkGraphQL(p, r, parameters)
		return
	}
	l.Need(p, "path")
	l.Refuse(p, "a request with graphql", "variables")
	r.Method = cmp.Or(r.Method, p.Tag("method"))
	if r.Path != nil {
		r.name = r.Method + " " + r.Path.text
	}
	l.Require(slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, r.Method), p.In("method"), "must be GET, POST, PUT, PATCH or DELETE")
}

// requiredVerbs are the operations that the contract has for a resource. A mapping must
// define each of them or give the reason why it is missing.
var requiredVerbs = map[adapter.Resource][]string{
	adapter.Products:          {"create", "update", "delete"},
	adapter.StockItems:        {"update"},
	adapter.ProductImages:     {"create", "update", "delete"},
	adapter.ProductWebsites:   {"create", "delete"},
	adapter.ProductCategories: {"create", "delete"},
	adapter.Customers:         {"create", "update", "delete"},
	adapter.CustomerAddresses: {"create", "update", "delete"},
}

// checkResources checks the resources and orders them, roots before their parts.
func (l *loader) checkResources(p place, m *mapping) {
	var roots, parts []*resource
	for name, p := range p.Members() {
		r := m.Resources[adapter.Resource(name)]
		if r == nil {
			continue // reported already: resources could not be decoded
		}
		r.name, r.schema, r.place = adapter.Resource(name), l.options.Schemas.Of(adapter.Resource(name)), p
		switch {
		case r.schema == nil:
			l.Fault(p, "is an unknown resource")
		case r.PartOf != "":
			parts = append(parts, r)
		default:
			r.root = r
			roots = append(roots, r)
			l.checkRoot(p, r)
		}
	}
	l.Require(len(roots) > 0, p, "needs at least one resource without part_of")
	for _, r := range parts {
		r.root, r.owner = m.Resources[r.schema.Root], r.schema.RootAttribute
		if r.root != nil {
			r.root.parts = append(r.root.parts, r)
		}
		l.checkPart(p.In(string(r.name)), r)
	}
	m.resources = append(roots, parts...)
	for _, r := range roots {
		l.Require(r.Views == nil || m.Resources[adapter.Stores] != nil, p.In(string(r.name)).In("views"), "needs the resource stores, whose ids are the store views")
	}
	for _, r := range m.resources {
		l.checkNested(m, r)
	}
}

// checkRoot checks a resource whose records have documents of their own.
func (l *loader) checkRoot(p place, r *resource) {
	l.Refuse(p, "a resource with part_of", "items", "identified", "match", "adopts", "order")
	l.Need(p, "fetch", "scan", "id", "read")
	l.checkResource(p, r)
	l.checkKeys(p.In("read"), r.Read, r.readNames)
	l.checkKeys(p.In("rest"), r.Rest, r.restNames)
	l.checkBatch(p.In("fetch"), r.Fetch)
	l.checkBatch(p.In("versions"), r.Versions)
	if r.Views != nil {
		l.checkViews(p.In("views"), r)
	}
	l.checkWatch(p, r)
	l.Require(len(r.Joins) == 0 || r.Version == nil, p.In("version"), "must not be used together with joins: what is joined changes without it")
	for i, j := range r.Joins {
		again := slices.ContainsFunc(r.Joins[:i], func(before *join) bool { return before.As == j.As })
		l.Require(!again, p.In("joins").Element(i).In("as"), "is %.40q, as of another join", j.As)
	}
	l.Require(r.Version != nil || r.Versions == nil, p.In("versions"), "needs version: where a document has its version")
	l.Require(r.Scan == nil || r.Scan.Pages != nil || r.Scan.single(), p.In("scan"), "needs pages, such as {offset: offset, limit: limit, size: 100}")
	l.Require(r.Find == nil || r.Find.Pages == nil || r.Find.Among, p.In("find").In("pages"), "needs among: true")
	l.Require(r.Find == nil || r.Key != nil || r.Find.Unique, p.In("find"), "needs key: an expression for the legacy id in a document")
	l.Require(r.Find == nil || !r.Find.Unique || !r.Find.Among, p.In("find").In("unique"), "must not be used together with among")
	l.Require(r.Find != nil || r.Create == nil || r.Without.Find != "", p, "has create but no find: without find, Portico cannot tell whether a create without a response succeeded; if the backend cannot find records, give the reason as without: {find: …}")
}

// checkBatch checks the number of documents in a request for some ids, if there is such a request.
func (l *loader) checkBatch(p place, g *documentRequest) {
	if g != nil {
		g.Batch = max(g.Batch, 1)
		l.Require(!g.single() || g.Batch == 1, p, "must not have batch together with item")
	}
}

// checkPart checks a resource whose records are in the documents of another resource.
func (l *loader) checkPart(p place, r *resource) {
	switch root := r.schema.Root; {
	case root == "":
		l.Fault(p, "cannot be a part of another resource")
	case r.PartOf != root:
		l.Fault(p.In("part_of"), "must be %s: %s are parts of %[1]s", root, r.name)
	case r.root == nil:
		l.Fault(p.In("part_of"), "is %s, which resources must have, too", root)
	}
	l.Refuse(p, "a resource without part_of", "fetch", "scan", "find", "joins", "watch", "id", "version", "versions", "views", "key", "read", "rest", "local_reads")
	l.Need(p, "items")
	l.checkResource(p, r)
	more := []string{"id", "key"}
	if r.schema.HasFile {
		more = append(more, contentURL)
	}
	l.checkKeys(p.In("items"), r.Items, r.restNames, more...)
	a := attributeOf(r.schema, r.Order)
	l.Require(r.Order == "" || r.Identified && a != nil && a.Kind == adapter.KindInteger, p.In("order"), "must be an integer attribute, such as position, of parts that are identified")
	l.Require(!r.Identified || len(r.Match) == 0, p.In("match"), "must not be used together with identified")
	for i, name := range r.Match {
		once := slices.Contains(r.Attributes, name) && !slices.Contains(r.Match[:i], name)
		l.Require(once, p.In("match").Element(i), "is %.40q, which must be in attributes, and here once", name)
	}
}

// checkResource checks the members that roots and parts share.
func (l *loader) checkResource(p place, r *resource) {
	l.Require(len(r.Attributes) > 0, p, "needs attributes: the names of the backend-owned attributes")
	for i, name := range r.Attributes {
		p := p.In("attributes").Element(i)
		_, known := r.schema.Index(name)
		l.Require(known, p, "is %.40q, which is not an attribute of %s", name, r.name)
		l.Require(name != r.schema.Key, p, "must not be %s: it is the legacy id, which the backend does not own", name)
		l.Require(r.owner == "" || name != r.owner, p, "must not be %s: the document that contains the %s determines it", name, r.name)
		l.Require(!slices.Contains(r.Attributes[:i], name), p, "is %.40q again", name)
	}
	for name, to := range r.References {
		p := p.In("references").In(name)
		a := attributeOf(r.schema, name)
		l.Require(a != nil && a.Kind == adapter.KindInteger, p, "is not an integer attribute of %s", r.name)
		l.Require(l.options.Schemas.Of(to) != nil, p, "is the unknown resource %.40q", to)
	}
	r.readNames = r.keysOf(func(name string) bool { return slices.Contains(r.Attributes, name) })
	r.restNames = r.keysOf(func(name string) bool { return name != r.schema.Key && name != r.owner })
	for _, verb := range []string{"create", "update", "delete"} {
		l.checkVerb(p, r, verb)
	}
}

// attributeOf returns the attribute "name", or of a nested record "list.name", or nil.
func attributeOf(s *adapter.Schema, name string) *adapter.Attribute {
	first, rest, nested := strings.Cut(name, ".")
	i, ok := s.Index(first)
	switch {
	case !ok:
		return nil
	case !nested:
		return &s.Attributes[i]
	case s.Attributes[i].Nested == nil:
		return nil
	}
	return attributeOf(s.Attributes[i].Nested, rest)
}

// keysOf returns the keys that expressions may return for the allowed attributes: their names, and
// the names of the backend's ids next to references.
func (r *resource) keysOf(allowed func(name string) bool) map[string]bool {
	keys := map[string]bool{}
	for _, a := range r.schema.Attributes {
		if allowed(a.Name) {
			keys[a.Name] = true
			if r.References[a.Name] != "" {
				keys[a.Name+refSuffix] = true
			}
		}
	}
	return keys
}

// checkVerb checks a write operation, also against the contract.
func (l *loader) checkVerb(p place, r *resource, verb string) {
	steps, reason := r.verb(verb)
	at, known := p.In(verb), slices.Contains(requiredVerbs[r.name], verb)
	l.Require(reason == "" || !at.IsSet(), p.In("without").In(verb), "must not be given, because there is %s", verb)
	l.Require(len(steps) > 0 || !at.IsSet(), at, "needs at least one request")
	l.Require(reason != "" || at.IsSet() || !known, p, "needs %s, which the contract has; if the backend cannot do it, give the reason as without: {%[1]s: …}", verb)
	for i, s := range steps {
		p := at.Element(i)
		l.Require(s.ID == nil || verb == "create" && s.Each == nil, p.In("id"), "is only allowed in a request of create without each")
		again := slices.ContainsFunc(steps[:i], func(before *step) bool { return before.Name == s.Name })
		l.Require(s.Name == "" || !again, p.In("name"), "is %.40q, as of another request", s.Name)
		undone := slices.ContainsFunc(steps[:i], func(before *step) bool { return before.Name == s.UndoneBy && before.Undo != nil })
		l.Require(s.UndoneBy == "" || undone && s.Undo == nil, p.In("undone_by"), "must be the name of an earlier request with undo, and not be used together with undo")
		if s.Multipart != nil {
			a := attributeOf(r.schema, s.Multipart.Attribute)
			l.Require(a != nil && a.Kind == adapter.KindText, p.In("multipart").In("attribute"), "must be a text attribute of %s, such as content", r.name)
		}
	}
}

// verb returns the requests of a write operation, and the reason if there are none.
func (r *resource) verb(name string) (steps []*step, without string) {
	switch name {
	case "create":
		return r.Create, r.Without.Create
	case "update":
		return r.Update, r.Without.Update
	}
	return r.Delete, r.Without.Delete
}

func (s *step) check(l *loader, p place) {
	l.checkName(p.In("name"), s.Name)
	if s.Multipart == nil {
		s.request.check(l, p)
		return
	}
	s.checkWith(l, p, s.Multipart.Variable)
	in, only, other := p.In("multipart"), "field", "variable"
	if s.GraphQL != nil {
		only, other = other, only
	}
	l.Need(in, only)
	l.Require(!in.In(other).IsSet(), in.In(other), "must not be used here: use %s", only)
	sendsBody := s.Method != "GET" && s.Method != "DELETE"
	l.Require(s.Body == nil && sendsBody, in, "needs the method POST, PUT or PATCH, and no body")
}

func (g *documentRequest) check(l *loader, p place) {
	g.checkWith(l, p, g.Pages.parameters()...)
	g.returnsDocuments = true
	if g.Aliases {
		l.checkAliases(p, g)
	} else {
		l.Require(p.Count("items", "item", "documents") == 1, p, "needs items, the path of the list in a response, or item for a single document, or documents, an expression for the list")
	}
	for _, name := range []string{"offset", "after", "total"} {
		at := p.In("pages").In(name)
		l.Require(g.Documents == nil || !at.IsSet(), at, "must not be used together with documents, which are not what the backend counts: use page or cursor")
	}
	if g.GraphQL != nil {
		l.checkDataPaths(p, "items", "item")
		l.checkDataPaths(p.In("pages"), "total")
		l.checkDataPaths(p.In("pages").In("cursor"), "next", "more")
	}
}

func (g *pages) check(l *loader, p place) {
	l.Require(p.Count("offset", "page", "cursor", "after", "whole") == 1, p, "must have exactly one of offset, page, cursor, after and whole")
}
