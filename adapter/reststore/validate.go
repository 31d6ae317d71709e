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
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/portico-commerce/portico/adapter"
)

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// checkName reports whether a name at p is empty or plain, and adds an error if not.
func (l *loader) checkName(p place, name string) bool {
	plain := name == "" || namePattern.MatchString(name)
	if !plain {
		l.errorf(p, "must consist of lower-case letters, digits and underscores")
	}
	return plain
}

// refuse reports members that are set though they are only allowed elsewhere.
func (l *loader) refuse(p place, where string, names ...string) {
	for _, name := range p.has(names...) {
		l.errorf(p.in(name), "is only allowed in %s", where)
	}
}

// reserved are names that variables must not have: jq's own and those that differ from
// call to call.
var reserved = []string{"ids", "id", "key", "since", "item", "user", "secret", "ENV", "__loc__"}

// loadVariables loads the variables of the file. overrides replace their values.
func (l *loader) loadVariables(p place, overrides map[string]string) {
	for _, name := range p.names() {
		if slices.Contains(reserved, name) {
			l.errorf(p.in(name), "is reserved: choose another name")
			continue
		}
		if !l.checkName(p.in(name), name) {
			continue
		}
		value, overridden := overrides[name]
		if node := p.in(name).node; !overridden && node != nil {
			value = node.Value
		}
		l.constants = append(l.constants, variable{name, value})
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if names := l.constantNames(""); !slices.Contains(names, name) {
			l.add(0, "has no variable %.40q, which rest.vars sets; it has %s", name, cmp.Or(strings.Join(names, ", "), "none"))
		}
	}
}

// constantNames returns the names of the file's variables.
func (l *loader) constantNames(prefix string) []string {
	var names []string
	for _, v := range l.constants {
		names = append(names, prefix+v.name)
	}
	return names
}

// loadFunctions loads the mapping's function definitions.
func (l *loader) loadFunctions(p place) {
	if !p.isSet() || p.node.Value == "" {
		return
	}
	e := &expression{text: p.node.Value, node: p.node}
	query, err := gojq.Parse(e.text)
	switch {
	case err != nil:
		l.reportSyntax(p, e, nil, err)
	case query.Term != nil, query.Right != nil, len(query.FuncDefs) == 0:
		l.errorf(p, "must contain only definitions, such as def cents: . * 100;")
	default:
		if l.compile(p, e, e.text+" .", nil); e.code != nil {
			l.functions = query.FuncDefs
		}
	}
}

// compile compiles the expression at p from program, which stands for its text.
func (l *loader) compile(p place, e *expression, program string, variables []string) {
	if strings.TrimSpace(e.text) == "" {
		l.errorf(p, "is empty: write a jq expression")
		return
	}
	compiled, err := l.compiler.compile(program, variables)
	if err != nil {
		l.reportSyntax(p, e, variables, err)
		return
	}
	e.at, e.code, e.query, e.constants = l.at(e.node.Line), compiled.code, compiled.query, compiled.constants
}

// reportSyntax records an error of compiling the expression at p.
func (l *loader) reportSyntax(p place, e *expression, variables []string, err error) {
	p.line = e.node.Line
	var syntax *gojq.ParseError
	// The text of a YAML block starts in the line after the | and keeps its lines.
	if errors.As(err, &syntax) && e.node.Style&yaml.LiteralStyle != 0 {
		p.line += 1 + strings.Count(e.text[:min(syntax.Offset, len(e.text))], "\n")
	}
	problem := err.Error()
	if strings.HasPrefix(problem, "variable not defined") {
		problem += "; available: " + cmp.Or(strings.Join(append(slices.Clone(variables), l.constantNames("$")...), ", "), "none")
	}
	l.errorf(p, "is not a valid jq expression: %s", problem)
}

// A template is a URL path with jq expressions in braces. It is compiled to one expression:
// "/a/{.id}" to "/a/" + (.id | _segment).
type template struct{ expression }

// compileTemplate compiles the path at p.
func (l *loader) compileTemplate(p place, e *template, variables []string) {
	if !strings.HasPrefix(e.text, "/") || strings.ContainsAny(e.text, " \t\r\n") && !strings.Contains(e.text, "{") {
		l.errorf(p, "must begin with a slash and is relative to rest.url, such as /items/{.id}")
		return
	}
	var program []string
	for rest := e.text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.ContainsAny(literal, "?#}") {
			l.errorf(p, "must not contain ?, # or }: write parameters under query")
			return
		}
		quoted, _ := json.Marshal(literal)
		program, rest = append(program, string(quoted)), after
		if !found {
			break
		}
		// Braces inside of an expression do not end it: up to there it is not one.
		end, err := -1, errors.New("there is a { without a matching }")
		for i, c := range after {
			if c == '}' && err != nil {
				end = i
				_, err = gojq.Parse(after[:i])
			}
		}
		if err != nil {
			l.reportSyntax(p, &e.expression, variables, err)
			return
		}
		// The line break ends a comment.
		program, rest = append(program, "("+after[:end]+"\n| _segment)"), after[end+1:]
	}
	l.compile(p, &e.expression, strings.Join(program, " + "), variables)
}

// checkKeys reports keys of the objects that the expression at p constructs that are not in
// names, as far as they are known without running it.
func (l *loader) checkKeys(p place, e *expression, names map[string]bool, more ...string) {
	if e == nil {
		return
	}
	for _, key := range objectKeys(e.query) {
		if !names[key] && !slices.Contains(more, key) {
			l.errorf(p, "returns %.40q, which is not one of %s", key, strings.Join(append(more, slices.Sorted(maps.Keys(names))...), ", "))
		}
	}
}

// kinds maps the kinds of a mapping file to error kinds.
var kinds = map[string]adapter.ErrorKind{
	"not_found":   adapter.NotFound,
	"conflict":    adapter.Conflict,
	"invalid":     adapter.Invalid,
	"unsupported": adapter.Unsupported,
	"unavailable": adapter.Unavailable,
	"internal":    adapter.Internal,
}

func (c *connection) check(l *loader, p place) {
	l.checkHeaders(p.in("headers"), c.Headers)
}

func (r *rule) check(l *loader, p place) {
	if _, known := kinds[r.Kind]; r.Kind != "" && !known {
		l.errorf(p.in("kind"), "is %.40q, which is not one of %s", r.Kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	if r.AnyStatus && r.Kind == "" {
		l.errorf(p, "needs kind, because it has any_status")
	}
}

// check sets the fixed header.
func (a *auth) check(l *loader, p place) {
	if len(p.has("basic", "bearer", "header", "login")) > 1 {
		l.errorf(p, "must have at most one of basic, bearer, header, login")
	}
	switch {
	case a.Basic != nil:
		basic := p.in("basic")
		pair := l.expandSettings(basic.in("user"), a.Basic.User) + ":" + l.expandSettings(basic.in("password"), a.Basic.Password)
		a.fixed = &header{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))}
	case p.in("bearer").isSet():
		a.fixed = &header{"Authorization", "Bearer " + l.expandSettings(p.in("bearer"), a.Bearer)}
	case a.Header != nil:
		a.fixed = &header{a.Header.Name, l.expandSettings(p.in("header").in("value"), a.Header.Value)}
	}
	if a.fixed != nil {
		l.checkHeader(p, a.fixed.Name, a.fixed.Value)
	}
}

// expandSettings returns the text at p with $user and $secret replaced by their settings.
func (l *loader) expandSettings(p place, text string) string {
	for name, value := range map[string]string{"user": l.user, "secret": l.secret} {
		if strings.Contains(text, "$"+name) && value == "" {
			l.errorf(p, "uses the setting rest.%s, which is empty", name)
		}
	}
	return strings.NewReplacer("$user", l.user, "$secret", l.secret).Replace(text)
}

func (l *loader) checkHeader(p place, name, value string) {
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		l.errorf(p, "is not a valid header with the name %.40q", name)
	}
}

func (l *loader) checkHeaders(p place, headers map[string]string) {
	for name, value := range headers {
		l.checkHeader(p.in(name), name, value)
	}
}

func (in *login) check(l *loader, p place) {
	l.checkHeader(p.in("header"), in.Header, "")
	in.credentials = []any{l.user, l.secret}
}

// defaultMethods are the methods of requests by the member that holds them. The requests of
// writes have none.
var defaultMethods = map[string]string{"ping": "GET", "fetch": "GET", "scan": "GET", "find": "GET", "join": "GET", "request": "POST"}

func (r *request) check(l *loader, p place) {
	r.at = l.at(p.line)
	l.checkHeaders(p.in("headers"), r.Headers)
	r.Method = cmp.Or(r.Method, defaultMethods[p.name()])
	if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, r.Method) {
		l.errorf(p.in("method"), "must be GET, POST, PUT, PATCH or DELETE")
	}
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

// loadResources checks the resources and orders them, roots before their parts.
func (l *loader) loadResources(p place, m *mapping) {
	var parts []*resource
	for _, name := range p.names() {
		r := m.Resources[adapter.Resource(name)]
		if r.name, r.schema = adapter.Resource(name), l.schemas.Of(adapter.Resource(name)); r.schema == nil {
			l.errorf(p.in(name), "is an unknown resource")
			continue
		}
		if r.PartOf != "" {
			parts = append(parts, r)
			continue
		}
		r.root = r
		m.resources = append(m.resources, r)
		l.checkRoot(p.in(name), r)
	}
	if len(m.resources) == 0 {
		l.errorf(p, "needs at least one resource without part_of")
	}
	for _, r := range parts {
		p := p.in(string(r.name))
		switch r.root, r.owner = m.Resources[r.schema.Root], r.schema.RootAttribute; {
		case r.schema.Root == "":
			l.errorf(p, "cannot be a part of another resource")
		case r.PartOf != r.schema.Root:
			l.errorf(p.in("part_of"), "must be %s: %s are parts of %[1]s", r.schema.Root, r.name)
		case r.root == nil:
			l.errorf(p.in("part_of"), "is %s, which resources must have, too", r.PartOf)
		default:
			r.root.parts = append(r.root.parts, r)
		}
		m.resources = append(m.resources, r)
		l.checkPart(p, r)
	}
}

// checkRoot checks a resource whose records have documents of their own.
func (l *loader) checkRoot(p place, r *resource) {
	l.refuse(p, "a resource with part_of", "items", "identified", "match", "adopts")
	l.need(p, "fetch", "scan", "id", "read")
	l.checkResource(p, r)
	l.checkKeys(p.in("read"), r.Read, r.readNames)
	l.checkKeys(p.in("rest"), r.Rest, r.restNames)
	fetch, scan, find := p.in("fetch"), p.in("scan"), p.in("find")
	if r.Fetch != nil {
		r.Fetch.Batch = max(r.Fetch.Batch, 1)
		if r.Fetch.single() && r.Fetch.Batch > 1 {
			l.errorf(fetch, "must not have batch together with item")
		}
	}
	if r.Scan != nil && r.Scan.Pages == nil && !r.Scan.single() {
		l.errorf(scan, "needs pages, such as {offset: offset, limit: limit, size: 100}")
	}
	if r.Find != nil && r.Key == nil {
		l.errorf(find, "needs key: an expression for the legacy id in a document")
	}
	if r.Find == nil && r.Create != nil && r.Without.Find == "" {
		l.errorf(p, "has create but no find: without find, Portico cannot tell whether a create without a response succeeded; if the backend cannot find records, give the reason as without: {find: …}")
	}
}

// checkPart checks a resource whose records are in the documents of another resource.
func (l *loader) checkPart(p place, r *resource) {
	l.refuse(p, "a resource without part_of", "fetch", "scan", "find", "join", "id", "key", "read", "rest")
	l.need(p, "items")
	l.checkResource(p, r)
	l.checkKeys(p.in("items"), r.Items, r.restNames, "id", "key")
	if r.Identified && len(r.Match) > 0 {
		l.errorf(p.in("match"), "must not be used together with identified")
	}
	for i, name := range r.Match {
		if !slices.Contains(r.Attributes, name) || slices.Contains(r.Match[:i], name) {
			l.errorf(p.in("match").element(i), "is %.40q, which must be in attributes, and here once", name)
		}
	}
}

// checkResource checks what roots and parts share.
func (l *loader) checkResource(p place, r *resource) {
	if len(r.Attributes) == 0 {
		l.errorf(p, "needs attributes: the names of the backend-owned attributes")
	}
	for i, name := range r.Attributes {
		p := p.in("attributes").element(i)
		switch _, ok := r.schema.Index(name); {
		case !ok:
			l.errorf(p, "is %.40q, which is not an attribute of %s", name, r.name)
		case name == r.schema.Key:
			l.errorf(p, "must not be %s: it is the legacy id, which the backend does not own", name)
		case name == r.owner:
			l.errorf(p, "must not be %s: the document that contains the %s determines it", name, r.name)
		case slices.Contains(r.Attributes[:i], name):
			l.errorf(p, "is %s again", name)
		}
	}
	for name, to := range r.References {
		p := p.in("references").in(name)
		if a := attributeOf(r.schema, name); a == nil || a.Kind != adapter.KindInteger {
			l.errorf(p, "is not an integer attribute of %s", r.name)
		}
		if l.schemas.Of(to) == nil {
			l.errorf(p, "is the unknown resource %.40q", to)
		}
	}
	r.setNames()
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

// setNames sets the keys that expressions may return: for read the backend-owned attributes,
// for rest all except the key and the owner, with the backend's ids of references.
func (r *resource) setNames() {
	r.readNames, r.restNames = map[string]bool{}, map[string]bool{}
	for _, a := range r.schema.Attributes {
		names := []string{a.Name}
		if r.References[a.Name] != "" {
			names = append(names, a.Name+refSuffix)
		}
		for _, name := range names {
			if slices.Contains(r.Attributes, a.Name) {
				r.readNames[name] = true
			}
			if a.Name != r.schema.Key && a.Name != r.owner {
				r.restNames[name] = true
			}
		}
	}
}

// checkVerb checks a write operation, also against the contract.
func (l *loader) checkVerb(p place, r *resource, verb string) {
	steps, reason := r.verb(verb)
	switch at := p.in(verb); {
	case at.isSet() && reason != "":
		l.errorf(p.in("without").in(verb), "must not be given, because there is %s", verb)
	case at.isSet() && len(steps) == 0:
		l.errorf(at, "needs at least one request")
	case reason == "" && !at.isSet() && slices.Contains(requiredVerbs[r.name], verb):
		l.errorf(p, "needs %s, which the contract has; if the backend cannot do it, give the reason as without: {%[1]s: …}", verb)
	}
	for i, s := range steps {
		p := p.in(verb).element(i)
		if s.ID != nil && (verb != "create" || s.Each != nil) {
			l.errorf(p.in("id"), "is only allowed in a request of create without each")
		}
		if s.Name != "" && slices.ContainsFunc(steps[:i], func(before *step) bool { return before.Name == s.Name }) {
			l.errorf(p.in("name"), "is %.40q, as of another request", s.Name)
		}
		if s.Multipart != nil {
			if a := attributeOf(r.schema, s.Multipart.Attribute); a == nil || a.Kind != adapter.KindText {
				l.errorf(p.in("multipart").in("attribute"), "must be a text attribute of %s, such as content", r.name)
			}
		}
	}
}

// verb returns the requests of a write operation, and the reason why there are none.
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
	s.request.check(l, p)
	l.checkName(p.in("name"), s.Name)
	if s.Multipart != nil && (s.Body != nil || s.Method == "GET" || s.Method == "DELETE") {
		l.errorf(p.in("multipart"), "needs the method POST, PUT or PATCH, and no body")
	}
}

func (g *documentRequest) check(l *loader, p place) {
	g.request.check(l, p)
	g.returnsDocuments = true
	if len(p.has("items", "item")) != 1 {
		l.errorf(p, "needs items, the path of the list in a response, or item for a single document")
	}
}

func (g *pages) check(l *loader, p place) {
	if len(p.has("offset", "page", "cursor")) != 1 {
		l.errorf(p, "must have exactly one of offset, page and cursor")
	}
}

func (j *join) check(l *loader, p place) {
	j.documentRequest.check(l, p)
	l.checkName(p.in("as"), j.As)
	j.Batch = cmp.Or(j.Batch, 50)
}
