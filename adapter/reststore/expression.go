package reststore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
)

// An expression is a compiled jq program. It is safe for concurrent use.
type expression struct {
	text  string
	at    string // file and line, for errors
	code  *gojq.Code
	query *gojq.Query
	// shortcut evaluates the expression without the interpreter; nil if that is not possible.
	shortcut expr.Shortcut
	// constants are the values of the mapping's variables, passed after the variables that
	// differ from call to call.
	constants []any
}

// A refusal is the error of an expression that rejects a write on purpose: error({invalid:
// "attribute"}). The key is the error kind, the value the name of the offending attribute
// or null.
type refusal struct {
	kind  ruleKind
	field string
}

func (r *refusal) Error() string { return "rejected by the mapping: " + r.kind.String() }

// Unwrap returns the error of the kind "changed".
func (r *refusal) Unwrap() error {
	if r.kind.changed {
		return replica.ErrChanged
	}
	return nil
}

// evalAll returns all values of the expression. It fails if there are more than limit.
func (e *expression) evalAll(ctx context.Context, limit int, input any, variables ...any) ([]any, error) {
	outputs := e.code.RunWithContext(ctx, input, e.values(variables)...)
	var found []any
	for {
		v, more := outputs.Next()
		if !more {
			return found, nil
		}
		if err, failed := v.(error); failed {
			return nil, e.wrapError(ctx, err)
		}
		if len(found) == limit {
			if limit == 1 {
				return nil, fmt.Errorf("%s: returns more than one value", e.at)
			}
			return nil, fmt.Errorf("%s: returns more than %d values", e.at, limit)
		}
		found = append(found, v)
	}
}

// values returns the values of all variables, given the ones that differ from call to call.
func (e *expression) values(variables []any) []any { return slices.Concat(variables, e.constants) }

// eval returns the only value of the expression, or nil if it returns none or is missing.
func (e *expression) eval(ctx context.Context, input any, variables ...any) (any, error) {
	if e == nil {
		return nil, nil
	}
	if e.shortcut != nil {
		if v, ok := e.shortcut(input, e.values(variables)); ok {
			return v, nil
		}
	}
	values, err := e.evalAll(ctx, 1, input, variables...)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	return values[0], nil
}

// holds reports whether the value of the expression is neither false nor null. A missing
// expression always holds.
func (e *expression) holds(ctx context.Context, input any) (bool, error) {
	if e == nil {
		return true, nil
	}
	v, err := e.eval(ctx, input)
	return err == nil && v != nil && v != false, err
}

// wrapError adds the expression's location to an error of jq. It removes the values that
// jq quotes, which may be personal data.
func (e *expression) wrapError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if value, ok := errors.AsType[gojq.ValueError](err); ok {
		if members, ok := value.Value().(map[string]any); ok && len(members) == 1 {
			for name, field := range members {
				var kind ruleKind
				if kind.UnmarshalText([]byte(name)) == nil {
					attribute, _ := field.(string)
					return fmt.Errorf("%s: %w", e.at, &refusal{kind, attribute})
				}
			}
		}
		if text, ok := value.Value().(string); ok {
			return fmt.Errorf("%s: error(%.100q)", e.at, text)
		}
	}
	text, _, _ := strings.Cut(err.Error(), " (")
	return fmt.Errorf("%s: %.100s", e.at, text)
}

// A compiler compiles the expressions of one mapping.
type compiler struct {
	constants []variable
	functions []*gojq.FuncDef // defined by the mapping
}

// compile compiles a jq program to e. variables are the names of the variables that differ
// from call to call, such as "$item".
func (d *compiler) compile(e *expression, program string, variables []string) (err error) {
	if e.query, err = gojq.Parse(program); err != nil {
		return err
	}
	if len(e.query.Imports) > 0 || e.query.Meta != nil {
		return errors.New("modules are not supported")
	}
	for _, v := range d.constants {
		e.constants = append(e.constants, v.value)
	}
	e.shortcut = expr.ShortcutOf(e.query, d.available(variables))
	whole := *e.query
	whole.FuncDefs = append(d.usedFunctions(program), e.query.FuncDefs...)
	e.code, err = gojq.Compile(&whole, append(expr.Functions(), gojq.WithVariables(d.available(variables)))...)
	return err
}

// available returns the names of all variables that an expression can use.
func (d *compiler) available(variables []string) []string {
	names := slices.Clone(variables)
	for _, v := range d.constants {
		names = append(names, "$"+v.name)
	}
	return names
}

// usedFunctions returns the mapping's functions that an expression may call, directly or
// indirectly. Compiling all functions for each expression would dominate the loading time.
func (d *compiler) usedFunctions(text string) []*gojq.FuncDef {
	var used []*gojq.FuncDef
	for _, f := range slices.Backward(d.functions) { // functions can call only earlier ones
		if strings.Contains(text, f.Name) {
			used = append(used, f)
			text += f.String()
		}
	}
	slices.Reverse(used)
	return used
}

// A variable is a constant defined by the mapping.
type variable struct{ name, value string }
