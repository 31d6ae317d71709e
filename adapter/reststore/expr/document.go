package expr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
)

// maxTokens limits the length of documents.
const maxTokens = 20_000

// An Error is a fault of a document.
type Error struct {
	Line    int // counted from 1
	Problem string
}

// Error returns the problem without the line.
func (e *Error) Error() string { return e.Problem }

func errorAt(at *ast.Position, format string, arguments ...any) error {
	return &Error{at.Line, fmt.Sprintf(format, arguments...)}
}

// parse parses a document and returns an [Error] if its syntax is wrong.
func parse(text string) (*ast.QueryDocument, error) {
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
	if known, ok := errors.AsType[*gqlerror.Error](err); ok {
		line := 1
		if len(known.Locations) > 0 {
			line = known.Locations[0].Line
		}
		return nil, &Error{line, strings.ToValidUTF8(known.Message, "")}
	}
	return document, err
}

// Fragments are fragment definitions that several documents share.
type Fragments []*ast.FragmentDefinition

// ParseFragments parses a document that consists of fragment definitions. Its error is an
// [Error].
func ParseFragments(text string) (Fragments, error) {
	document, err := parse(text)
	if err != nil {
		return nil, err
	}
	if len(document.Operations) > 0 {
		return nil, errorAt(document.Operations[0].Position, "must have no operations")
	}
	return Fragments(document.Fragments), checkUnique(Fragments(document.Fragments))
}

func checkUnique(all Fragments) error {
	for i, f := range all {
		if all[:i].find(f.Name) != nil {
			return errorAt(f.Position, "the fragment %.40s is defined twice", f.Name)
		}
	}
	return nil
}

// find returns the fragment with this name, or nil.
func (f Fragments) find(name string) *ast.FragmentDefinition {
	return ast.FragmentDefinitionList(f).ForName(name)
}

// A Document is a document with one operation. It is safe for concurrent use.
type Document struct {
	operation *ast.OperationDefinition
	uses      uses
	text      string
}

// Parse parses a document with one query or mutation, which may use the shared fragments.
// Its error is an [Error].
func Parse(text string, shared Fragments) (*Document, error) {
	parsed, err := parse(text)
	if err != nil {
		return nil, err
	}
	if len(parsed.Operations) != 1 {
		return nil, errorAt(cmp.Or(parsed.Position, &ast.Position{Line: 1}), "must have exactly one operation, not %d", len(parsed.Operations))
	}
	d := &Document{operation: parsed.Operations[0]}
	if d.operation.Operation == ast.Subscription {
		return nil, errorAt(d.operation.Position, "must be a query or a mutation")
	}
	available := slices.Concat(shared, Fragments(parsed.Fragments))
	if err := checkUnique(available); err != nil {
		return nil, err
	}
	if d.uses, err = usesOf(d.operation, available); err != nil {
		return nil, err
	}
	d.text = format(d.operation) + d.fragments()
	return d, nil
}

// format returns the text of an operation.
func format(operation *ast.OperationDefinition) string {
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("")).FormatQueryDocument(&ast.QueryDocument{Operations: ast.OperationList{operation}})
	return text.String()
}

// fragments returns the text of the fragments that the operation uses.
func (d *Document) fragments() string {
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("")).FormatQueryDocument(&ast.QueryDocument{Fragments: d.uses.fragments})
	return text.String()
}

// Text returns the text to send: the operation and the fragments that it uses.
func (d *Document) Text() string { return d.text }

// IsQuery reports whether the operation is a query, which changes nothing at the backend.
func (d *Document) IsQuery() bool { return d.operation.Operation == ast.Query }

// Name returns a name of the operation for people, such as "query products": it has the
// operation's name or, without one, the name of its first field.
func (d *Document) Name() string {
	field := ""
	if f, ok := d.operation.SelectionSet[0].(*ast.Field); ok {
		field = f.Name
	}
	return strings.TrimSpace(string(d.operation.Operation) + " " + cmp.Or(d.operation.Name, field))
}

// A variable is a variable that a document declares.
type variable struct {
	Name     string
	Required bool // it cannot be null, and has no default
}

// Variables returns the variables that the operation declares.
func (d *Document) Variables() []variable {
	var all []variable
	for _, v := range d.operation.VariableDefinitions {
		all = append(all, variable{v.Variable, v.Type.NonNull && v.DefaultValue == nil})
	}
	return all
}

// uses are the fragments and the variables that an operation uses.
type uses struct {
	available Fragments
	fragments ast.FragmentDefinitionList
	variables []*ast.Value // wherever they are used
	// spreadAt is where the operation uses the fragment that is visited; nil for the
	// operation itself.
	spreadAt    *ast.Position
	inFragments bool // fragments use variables, too
	declared    ast.VariableDefinitionList
	err         error // the first fault
}

// usesOf returns the fragments and variables that an operation uses. It fails if a fragment
// is not available, and unless the operation declares exactly the variables that it uses.
func usesOf(operation *ast.OperationDefinition, available Fragments) (uses, error) {
	u := uses{available: available, declared: operation.VariableDefinitions}
	u.directives(operation.Directives)
	u.selections(operation.SelectionSet)
	for i, v := range u.declared {
		if u.declared[:i].ForName(v.Variable) != nil {
			u.fault(v.Position, "declares $%.40s twice", v.Variable)
		}
		if !slices.ContainsFunc(u.variables, func(use *ast.Value) bool { return use.Raw == v.Variable }) {
			u.fault(v.Position, "declares $%.40s, but does not use it", v.Variable)
		}
	}
	return u, u.err
}

// fault records a fault, unless there is one before it. A fault in a fragment is located
// where the operation uses it.
func (u *uses) fault(at *ast.Position, format string, name string) {
	if u.err == nil {
		u.err = errorAt(cmp.Or(u.spreadAt, at), format, name)
	}
}

func (u *uses) selections(set ast.SelectionSet) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			u.arguments(s.Arguments)
			u.directives(s.Directives)
			u.selections(s.SelectionSet)
		case *ast.InlineFragment:
			u.directives(s.Directives)
			u.selections(s.SelectionSet)
		case *ast.FragmentSpread:
			u.directives(s.Directives)
			u.spread(s)
		}
	}
}

// spread adds a fragment and everything that it uses, once.
func (u *uses) spread(s *ast.FragmentSpread) {
	if u.fragments.ForName(s.Name) != nil {
		return
	}
	f := u.available.find(s.Name)
	if f == nil {
		u.fault(s.Position, "uses the fragment %.40s, which is not defined", s.Name)
		return
	}
	u.fragments = append(u.fragments, f)
	outer := u.spreadAt
	u.spreadAt = cmp.Or(outer, s.Position)
	u.directives(f.Directives)
	u.selections(f.SelectionSet)
	u.spreadAt = outer
}

func (u *uses) directives(list ast.DirectiveList) {
	for _, d := range list {
		u.arguments(d.Arguments)
	}
}

func (u *uses) arguments(list ast.ArgumentList) {
	for _, a := range list {
		u.value(a.Value)
	}
}

func (u *uses) value(v *ast.Value) {
	if v.Kind == ast.Variable {
		u.variables = append(u.variables, v)
		u.inFragments = u.inFragments || u.spreadAt != nil
		if u.declared.ForName(v.Raw) == nil {
			u.fault(v.Position, "uses $%.40s, which the operation does not declare", v.Raw)
		}
	}
	for _, child := range v.Children {
		u.value(child.Value)
	}
}
