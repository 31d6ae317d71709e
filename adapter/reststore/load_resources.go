package reststore

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
)

// A partOwner is the root resource of a part.
type partOwner struct {
	root      adapter.Resource
	attribute string // of the part; holds the key of the root record
}

// partOwners has the resources that can be parts.
var partOwners = map[adapter.Resource]partOwner{
	adapter.StockItems:        {adapter.Products, "product_id"},
	adapter.ProductImages:     {adapter.Products, "product_id"},
	adapter.ProductWebsites:   {adapter.Products, "product_id"},
	adapter.ProductCategories: {adapter.Products, "product_id"},
	adapter.CustomerAddresses: {adapter.Customers, "customer_id"},
	adapter.OrderItems:        {adapter.Orders, "order_id"},
	adapter.OrderAddresses:    {adapter.Orders, "parent_id"},
	adapter.OrderComments:     {adapter.Orders, "parent_id"},
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

// writeFields, rootFields and partFields are the members of a resource in a mapping file.
var (
	writeFields = []string{"create", "update", "delete", "without"}
	rootFields  = append([]string{"attributes", "references", "fetch", "scan", "find", "join", "id", "key", "read", "rest"}, writeFields...)
	partFields  = append([]string{"part_of", "attributes", "references", "items", "identified", "match", "adopts"}, writeFields...)
)

// loadResources loads all resources and returns roots before their parts.
func (l *loader) loadResources(root, n *yaml.Node) []*resource {
	var roots, parts []*resource
	partOf := map[*resource]*yaml.Node{}
	for _, e := range l.entries(n, "resources") {
		name := adapter.Resource(e.name)
		schema := l.schemas.Of(name)
		if schema == nil {
			l.errorf(e.line, "unknown resource %.40q", e.name)
			continue
		}
		r := &resource{name: name, schema: schema, references: map[string]adapter.Resource{}}
		if owner := mappingValue(e.node, "part_of"); owner != nil {
			partOf[r] = owner
			parts = append(parts, r)
			l.loadPart(r, e, l.fields(e.node, e.name, partFields...))
		} else {
			r.root = r
			roots = append(roots, r)
			l.loadRoot(r, e, l.fields(e.node, e.name, rootFields...))
		}
	}
	if len(roots) == 0 {
		l.errorf(root.Line, "resources needs at least one resource without part_of")
	}
	all := roots
	for _, p := range parts {
		n := partOf[p]
		owner, may := partOwners[p.name]
		i := slices.IndexFunc(roots, func(r *resource) bool { return string(r.name) == l.scalar(n, "part_of") })
		switch {
		case !may:
			l.errorf(n.Line, "%s cannot be a part of another resource", p.name)
		case l.scalar(n, "part_of") != string(owner.root):
			l.errorf(n.Line, "%s are parts of %s", p.name, owner.root)
		case i < 0:
			l.errorf(n.Line, "resources must have %s, because %s are parts of it", owner.root, p.name)
		default:
			p.root, p.owner = roots[i], owner.attribute
			p.root.parts = append(p.root.parts, p)
			if slices.Contains(p.attributes, p.owner) {
				l.errorf(n.Line, "remove %s from attributes: the document that contains the %s determines it", p.owner, p.name)
			}
		}
		all = append(all, p)
	}
	for _, r := range all {
		r.readNames, r.restNames = toSet(r.readableNames()), toSet(r.importableNames())
	}
	return all
}

func toSet(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// mappingValue returns the member called name of a YAML mapping, or nil.
func mappingValue(n *yaml.Node, name string) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

// loadRoot loads a resource whose records have documents of their own.
func (l *loader) loadRoot(r *resource, e entry, f map[string]*yaml.Node) {
	l.loadCommon(r, e, f)
	r.fetch = l.loadDocumentRequest(f["fetch"], "fetch", "$ids", "$id")
	r.scan = l.loadDocumentRequest(f["scan"], "scan", "$since")
	r.find = l.loadDocumentRequest(f["find"], "find", "$key")
	r.join = l.loadJoin(f["join"])
	r.id = l.path(f["id"], "id")
	r.key = l.loadExpression(f["key"], "key")
	r.read = l.loadExpression(f["read"], "read")
	r.rest = l.loadExpression(f["rest"], "rest")
	l.checkKeys(r.read, f["read"], "read", r.readableNames())
	l.checkKeys(r.rest, f["rest"], "rest", r.importableNames())
	for _, name := range []string{"fetch", "scan", "id", "read"} {
		if f[name] == nil {
			l.errorf(e.line, "%s needs %s", e.name, name)
		}
	}
	if r.scan != nil && r.scan.pages == nil && !r.scan.single {
		l.errorf(f["scan"].Line, "scan needs pages, such as {offset: offset, limit: limit, size: 100}")
	}
	if r.find != nil && r.key == nil {
		l.errorf(f["find"].Line, "find needs key: an expression for the legacy id in a document")
	}
	if r.find == nil && r.create != nil && r.noFind == "" {
		l.errorf(e.line, "%s has create but no find: without find, Portico cannot tell whether a create without a response succeeded; if the backend cannot find records, give the reason as without: {find: …}", e.name)
	}
}

// loadPart loads a resource whose records are in the documents of another resource.
func (l *loader) loadPart(r *resource, e entry, f map[string]*yaml.Node) {
	l.loadCommon(r, e, f)
	r.items = l.loadExpression(f["items"], "items")
	r.identified = l.flag(f["identified"], "identified")
	r.adopts = l.flag(f["adopts"], "adopts")
	r.match = l.texts(f["match"], "match")
	l.checkKeys(r.items, f["items"], "items", append([]string{"id", "key"}, append(r.readableNames(), r.importableNames()...)...))
	if f["items"] == nil {
		l.errorf(e.line, "%s needs items", e.name)
	}
	if r.identified && len(r.match) > 0 {
		l.errorf(f["match"].Line, "match must not be used together with identified")
	}
	for _, name := range r.match {
		if !slices.Contains(r.attributes, name) {
			l.errorf(f["match"].Line, "%.40q in match is not in attributes", name)
		}
	}
}

// loadCommon loads the members that roots and parts share.
func (l *loader) loadCommon(r *resource, e entry, f map[string]*yaml.Node) {
	r.attributes = l.texts(f["attributes"], "attributes")
	if len(r.attributes) == 0 {
		l.errorf(e.line, "%s needs attributes: the names of the backend-owned attributes", e.name)
	}
	for i, name := range r.attributes {
		line := f["attributes"].Content[min(i, len(f["attributes"].Content)-1)].Line
		if _, ok := r.schema.Index(name); !ok {
			l.errorf(line, "%s has no attribute %.40q", e.name, name)
		} else if name == r.schema.Key {
			l.errorf(line, "remove %s from attributes: it is the legacy id, which the backend does not own", name)
		}
	}
	for _, ref := range l.entries(f["references"], "references") {
		to := adapter.Resource(l.scalar(ref.node, ref.name))
		a := attributeOf(r.schema, ref.name)
		switch {
		case a == nil || a.Kind != adapter.KindInteger:
			l.errorf(ref.line, "%s has no integer attribute %.80q", e.name, ref.name)
		case l.schemas.Of(to) == nil:
			l.errorf(ref.line, "unknown resource %.40q", to)
		default:
			r.references[ref.name] = to
		}
	}
	l.loadVerbs(r, e, f)
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

// readableNames returns the keys that read may return: backend-owned attributes, and the
// backend's ids for references.
func (r *resource) readableNames() []string {
	var names []string
	for _, name := range r.attributes {
		names = append(names, name)
		if _, ok := r.references[name]; ok {
			names = append(names, name+"_ref")
		}
	}
	return names
}

// importableNames returns the keys that rest may return: all attributes except the key and
// the owner.
func (r *resource) importableNames() []string {
	var names []string
	for _, a := range r.schema.Attributes {
		if a.Name != r.schema.Key && a.Name != r.owner {
			names = append(names, a.Name)
			if _, ok := r.references[a.Name]; ok {
				names = append(names, a.Name+"_ref")
			}
		}
	}
	return names
}

// loadVerbs loads the write operations and checks them against the contract.
func (l *loader) loadVerbs(r *resource, e entry, f map[string]*yaml.Node) {
	without := l.fields(f["without"], "without", "create", "update", "delete", "find")
	for name, verb := range map[string]**verb{"create": &r.create, "update": &r.update, "delete": &r.remove} {
		reason := l.scalar(without[name], name)
		switch {
		case f[name] != nil && reason != "":
			l.errorf(without[name].Line, "%s is defined, but without says that it is missing", name)
		case f[name] != nil:
			*verb = l.loadVerb(r, f[name], name)
		case reason == "" && slices.Contains(requiredVerbs[r.name], name):
			l.errorf(e.line, "%s needs %s, which the contract has; if the backend cannot do it, give the reason as without: {%[2]s: …}", e.name, name)
		}
	}
	r.noFind = l.scalar(without["find"], "find")
	r.noCreate, r.noUpdate, r.noDelete = l.scalar(without["create"], "create"), l.scalar(without["update"], "update"), l.scalar(without["delete"], "delete")
}

// loadVerb loads the requests of a write operation.
func (l *loader) loadVerb(r *resource, n *yaml.Node, name string) *verb {
	v := &verb{}
	var names []string
	for _, e := range l.list(n, name) {
		s := l.loadStep(r, e, name, true)
		if s.name != "" && slices.Contains(names, s.name) {
			l.errorf(e.Line, "%s has two requests called %.40q", name, s.name)
		}
		names = append(names, s.name)
		v.steps = append(v.steps, s)
	}
	if len(v.steps) == 0 {
		l.errorf(n.Line, "%s needs at least one request", name)
	}
	return v
}

func (l *loader) loadStep(r *resource, n *yaml.Node, verb string, undoable bool) *step {
	known := append([]string{"when"}, requestFields...)
	if undoable {
		known = append(known, "name", "each", "multipart", "id", "undo")
	}
	f := l.fields(n, "a request of "+verb, known...)
	s := &step{name: l.scalar(f["name"], "name"), when: l.loadExpression(f["when"], "when"), each: l.loadExpression(f["each"], "each"), id: l.loadExpression(f["id"], "id")}
	variables := []string{"$item"} // null unless the step has each
	s.request = l.loadRequestFields(n, f, "", variables)
	if s.name != "" && !namePattern.MatchString(s.name) {
		l.errorf(f["name"].Line, "the name of a request must consist of lower-case letters, digits and underscores")
	}
	if f["multipart"] != nil {
		s.multipart = l.loadMultipart(r, f["multipart"], variables)
		if s.request.body != nil {
			l.errorf(n.Line, "a request must not have both body and multipart")
		}
		if s.request.method != "POST" && s.request.method != "PUT" && s.request.method != "PATCH" {
			l.errorf(n.Line, "multipart needs the method POST, PUT or PATCH")
		}
	}
	if s.id != nil && (verb != "create" || s.each != nil) {
		l.errorf(f["id"].Line, "id is only allowed in a request of create without each")
	}
	if f["undo"] != nil {
		s.undo = l.loadStep(r, f["undo"], "undo", false)
	}
	return s
}

func (l *loader) loadMultipart(r *resource, n *yaml.Node, variables []string) *multipart {
	f := l.fields(n, "multipart", "field", "attribute", "filename", "type")
	m := &multipart{
		field:     l.scalar(f["field"], "field"),
		attribute: l.scalar(f["attribute"], "attribute"),
		filename:  l.loadExpression(f["filename"], "filename", variables...),
		mediaType: l.loadExpression(f["type"], "type", variables...),
	}
	if a := attributeOf(r.schema, m.attribute); a == nil || a.Kind != adapter.KindText {
		l.errorf(n.Line, "attribute must be a text attribute of %s, such as content", r.name)
	}
	if m.field == "" || m.filename == nil || m.mediaType == nil {
		l.errorf(n.Line, "multipart needs field, attribute, filename and type")
	}
	return m
}

// loadDocumentRequest loads a request for documents: fetch, scan or find.
func (l *loader) loadDocumentRequest(n *yaml.Node, what string, variables ...string) *documentRequest {
	if isNull(n) {
		return nil
	}
	f := l.fields(n, what, append([]string{"items", "item", "batch", "pages", "among", "where"}, requestFields...)...)
	g := &documentRequest{request: l.loadRequestFields(n, f, "GET", variables), batch: l.number(f["batch"], "batch", 0, 1, 1000)}
	g.request.returnsDocuments = true
	switch {
	case (f["items"] == nil) == (f["item"] == nil):
		l.errorf(n.Line, "%s needs items, the path of the list in a response, or item for a single document", what)
	case f["item"] != nil:
		g.items, g.single = l.path(f["item"], "item"), true
	default:
		g.items = l.path(f["items"], "items")
	}
	switch {
	case what != "fetch" && g.batch != 0:
		l.errorf(n.Line, "batch is only allowed in fetch")
	case what == "fetch" && g.single && g.batch > 1:
		l.errorf(n.Line, "fetch must not have batch together with item")
	case what == "fetch" && g.batch == 0:
		g.batch = 1
	}
	if g.among = l.flag(f["among"], "among"); g.among && what != "find" {
		l.errorf(n.Line, "among is only allowed in find")
	}
	if g.where = l.loadExpression(f["where"], "where"); g.where != nil && what != "scan" {
		l.errorf(n.Line, "where is only allowed in scan")
	}
	if f["pages"] != nil {
		g.pages = l.loadPages(f["pages"])
		if what != "scan" {
			l.errorf(n.Line, "pages is only allowed in scan")
		}
	}
	return g
}

func (l *loader) loadPages(n *yaml.Node) *pages {
	f := l.fields(n, "pages", "size", "limit", "offset", "page", "first", "total", "cursor")
	p := &pages{
		size:   l.number(f["size"], "size", 100, 1, 10_000),
		limit:  l.scalar(f["limit"], "limit"),
		offset: l.scalar(f["offset"], "offset"),
		page:   l.scalar(f["page"], "page"),
		first:  l.number(f["first"], "first", 1, 0, 1),
		total:  l.path(f["total"], "total"),
	}
	ways := 0
	for _, name := range []string{"offset", "page", "cursor"} {
		if f[name] != nil {
			ways++
		}
	}
	if ways != 1 {
		l.errorf(n.Line, "pages must have exactly one of offset, page and cursor")
	}
	if f["cursor"] != nil {
		c := l.fields(f["cursor"], "cursor", "query", "next")
		p.cursor, p.next = l.scalar(c["query"], "query"), l.path(c["next"], "next")
		if p.cursor == "" || p.next == nil {
			l.errorf(n.Line, "cursor needs query, the name of the parameter, and next, the path of the next cursor in a response")
		}
	}
	return p
}
