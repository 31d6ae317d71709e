package reststore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
)

// A loader validates and compiles a mapping file.
type loader struct {
	yamlReader
	compiler
	schemas *adapter.Schemas
	// The values of $user and $secret.
	user, secret string
}

// readerVersion is part of every tag. Change it when documents are read differently, so
// that all of them are read again.
const readerVersion = "reststore 1"

// load validates and compiles a mapping file. Its error joins all problems, each with file
// and line.
func load(o *Options) (*mapping, error) {
	l := &loader{yamlReader: yamlReader{file: o.File}, schemas: o.Schemas, user: o.User, secret: o.Secret}
	m := &mapping{}
	if root := l.parse(o.Mapping); root != nil {
		top := l.fields(root, "a mapping file", "name", "vars", "functions", "connection", "resources")
		m.name = l.loadName(root, top["name"])
		l.loadVariables(top["vars"], o.Vars)
		l.loadFunctions(top["functions"])
		m.connection = l.loadConnection(top["connection"])
		m.resources = l.loadResources(root, top["resources"])
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%q\n", readerVersion, l.constants)
	_, _ = h.Write(o.Mapping)
	m.fingerprint = h.Sum(nil)
	return m, nil
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

func (l *loader) loadName(root, n *yaml.Node) string {
	name := l.scalar(n, "name")
	switch {
	case name == "":
		l.errorf(root.Line, "name is missing: a short name of the backend, such as medusa")
	case !namePattern.MatchString(name):
		l.errorf(n.Line, "name must consist of lower-case letters, digits and underscores")
	}
	return name
}

// loadVariables loads the variables of the file. overrides replace their values.
func (l *loader) loadVariables(n *yaml.Node, overrides map[string]string) {
	for _, e := range l.entries(n, "vars") {
		value := l.scalar(e.node, e.name)
		if !namePattern.MatchString(e.name) {
			l.errorf(e.line, "the name of a variable must consist of lower-case letters, digits and underscores")
			continue
		}
		if slices.Contains(reserved, "$"+e.name) {
			l.errorf(e.line, "$%s is reserved: choose another name", e.name)
			continue
		}
		if override, ok := overrides[e.name]; ok {
			value = override
		}
		l.constants = append(l.constants, variable{e.name, value})
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if !slices.ContainsFunc(l.constants, func(v variable) bool { return v.name == name }) {
			l.errorf(0, "has no variable %.40q, which rest.vars sets; it has %s", name, l.variableNames())
		}
	}
}

func (l *loader) variableNames() string {
	if len(l.constants) == 0 {
		return "none"
	}
	var names []string
	for _, v := range l.constants {
		names = append(names, v.name)
	}
	return strings.Join(names, ", ")
}

// reserved are names that variables must not have: jq's own and those that differ from
// call to call.
var reserved = []string{"$ids", "$id", "$key", "$since", "$item", "$user", "$secret", "$ENV", "$__loc__"}

// loadExpression compiles the jq program at a node, or returns nil if there is none.
func (l *loader) loadExpression(n *yaml.Node, what string, variables ...string) *expression {
	if isNull(n) {
		return nil
	}
	return l.compile(l.scalar(n, what), n, variables)
}

// compile compiles text, the jq program at node n.
func (l *loader) compile(text string, n *yaml.Node, variables []string) *expression {
	if strings.TrimSpace(text) == "" {
		l.errorf(n.Line, "the expression is empty")
		return nil
	}
	e, err := l.compiler.compile(text, variables)
	if err != nil {
		l.reportSyntax(n, text, variables, err)
		return nil
	}
	e.at = l.at(n.Line)
	return e
}

// reportSyntax records a compile error of the jq program at node n.
func (l *loader) reportSyntax(n *yaml.Node, text string, variables []string, err error) {
	line := n.Line
	var syntax *gojq.ParseError
	// The text of a YAML block starts in the line after the | and keeps its lines.
	if errors.As(err, &syntax) && n.Style&yaml.LiteralStyle != 0 {
		line += 1 + strings.Count(text[:min(syntax.Offset, len(text))], "\n")
	}
	problem := err.Error()
	if strings.HasPrefix(problem, "variable not defined") {
		if names := append(slices.Clone(variables), l.variableReferences()...); len(names) > 0 {
			problem += "; available: " + strings.Join(names, ", ")
		} else {
			problem += "; no variables are available here"
		}
	}
	l.errorf(line, "not a valid jq expression: %s", problem)
}

// loadFunctions loads the mapping's function definitions.
func (l *loader) loadFunctions(n *yaml.Node) {
	text := l.scalar(n, "functions")
	if text == "" {
		return
	}
	query, err := gojq.Parse(text)
	switch {
	case err != nil:
		l.reportSyntax(n, text, nil, err)
		return
	case query.Term != nil, query.Right != nil, len(query.FuncDefs) == 0:
		l.errorf(n.Line, "functions must contain only definitions, such as def cents: . * 100;")
		return
	}
	if _, err := l.compiler.compile(text+" .", nil); err != nil {
		l.reportSyntax(n, text, nil, err)
		return
	}
	l.functions = query.FuncDefs
}

func (l *loader) variableReferences() []string {
	var names []string
	for _, v := range l.constants {
		names = append(names, "$"+v.name)
	}
	return names
}

// checkKeys reports keys of the objects that an expression constructs that are not in
// names, as far as they are known without running it.
func (l *loader) checkKeys(e *expression, n *yaml.Node, what string, names []string) {
	if e == nil {
		return
	}
	for _, m := range objectKeys(e.query) {
		if !slices.Contains(names, m) {
			l.errorf(n.Line, "%s returns %.40q, which is not one of %s", what, m, strings.Join(names, ", "))
		}
	}
}
