package expr

import (
	"errors"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// A Repeated is a query whose only field is requested several times at once: each time under
// an alias of its own, with variables of its own. It is safe for concurrent use.
type Repeated struct {
	name      string   // of the operation
	variables []string // declarations, with numberMark for the number
	field     string   // likewise
	fragments string
}

// numberMark stands for the number of a repetition. No document contains it.
const numberMark = "\x00"

// Repeat returns the query with which the only field of this one is requested several times.
func (d *Document) Repeat() (*Repeated, error) {
	parsed, err := Parse(d.text, nil) // a copy to change
	if err != nil {
		return nil, err
	}
	o := parsed.operation
	field, isField := o.SelectionSet[0].(*ast.Field)
	switch {
	case !d.IsQuery() || len(o.SelectionSet) != 1 || !isField:
		return nil, errors.New("must be a query of one field, because it is repeated")
	case len(o.VariableDefinitions) == 0:
		return nil, errors.New("must have a variable for the id, because it is repeated")
	case len(o.Directives) > 0 || parsed.uses.inFragments:
		return nil, errors.New("must not use variables in fragments, nor directives of the query, because it is repeated")
	}
	r := &Repeated{name: o.Name, fragments: parsed.fragments()}
	for _, v := range parsed.uses.variables {
		v.Raw += "_" + numberMark
	}
	for _, v := range o.VariableDefinitions {
		declaration := "$" + v.Variable + "_" + numberMark + ": " + v.Type.String()
		if v.DefaultValue != nil {
			declaration += " = " + v.DefaultValue.String()
		}
		r.variables = append(r.variables, declaration)
	}
	field.Alias = "r" + numberMark
	text := format(&ast.OperationDefinition{Operation: ast.Query, SelectionSet: ast.SelectionSet{field}})
	r.field = strings.TrimSpace(text[strings.Index(text, "{")+1 : strings.LastIndex(text, "}")])
	return r, nil
}

// Text returns the text to send for a number of repetitions.
func (r *Repeated) Text(count int) string {
	var variables, fields strings.Builder
	for i := range count {
		number := strings.NewReplacer(numberMark, strconv.Itoa(i))
		_, _ = number.WriteString(&variables, strings.Join(r.variables, ", ")+", ")
		_, _ = number.WriteString(&fields, r.field+"\n")
	}
	return "query " + r.name + "(" + variables.String() + ") {\n" + fields.String() + "}\n" + r.fragments
}

// Variable returns the name of a variable in one repetition, counted from 0.
func (r *Repeated) Variable(name string, repetition int) string {
	return name + "_" + strconv.Itoa(repetition)
}
