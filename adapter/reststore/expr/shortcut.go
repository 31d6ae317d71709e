package expr

import (
	"slices"

	"github.com/itchyny/gojq"
)

// A Shortcut returns the only value of an expression, given the values of its variables. It
// reports false for an input with which the expression fails.
type Shortcut func(input any, variables []any) (v any, ok bool)

// ShortcutOf returns a shortcut for an expression that needs no interpreter, or nil: a text, a
// variable, the input, or a member of these such as .a.b. variables are the names of the
// variables, such as "$item".
func ShortcutOf(q *gojq.Query, variables []string) Shortcut {
	t := q.Term
	if t == nil || len(q.FuncDefs) > 0 {
		return nil
	}
	start := func(input any, _ []any) any { return input }
	var members []string
	switch {
	case t.Type == gojq.TermTypeIdentity:
	case t.Type == gojq.TermTypeIndex && t.Index.Name != "":
		members = []string{t.Index.Name}
	case t.Type == gojq.TermTypeString && t.Str.Queries == nil:
		start = func(any, []any) any { return t.Str.Str }
	case t.Type == gojq.TermTypeFunc && slices.Contains(variables, t.Func.Name):
		at := slices.Index(variables, t.Func.Name)
		start = func(_ any, values []any) any { return values[at] }
	default:
		return nil
	}
	for _, s := range t.SuffixList {
		if s.Index == nil || s.Index.Name == "" {
			return nil
		}
		members = append(members, s.Index.Name)
	}
	return func(input any, values []any) (any, bool) {
		v := start(input, values)
		for _, name := range members {
			object, ok := v.(map[string]any)
			if !ok && v != nil {
				return nil, false
			}
			v = object[name]
		}
		return v, true
	}
}
