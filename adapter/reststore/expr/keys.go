package expr

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// Keys are the keys of the objects that a query constructs, alone or in lists, as far as
// they are known without running it.
type Keys struct {
	Functions []*gojq.FuncDef // calls of functions without parameters are followed
	Names     []string
	Open      bool // there may be others, such as computed keys
}

// Add adds the keys of the results of a query. depth limits calls of functions that call
// themselves.
func (k *Keys) Add(q *gojq.Query, depth int) {
	switch {
	case q == nil: // an if without else returns its input
		k.Open = true
	case q.Op == gojq.OpPipe:
		k.Add(q.Right, depth)
	case q.Op == gojq.OpAdd, q.Op == gojq.OpMul, q.Op == gojq.OpAlt, q.Op == gojq.OpComma:
		k.Add(q.Left, depth)
		k.Add(q.Right, depth)
	case q.Term == nil, len(q.Term.SuffixList) > 0:
		k.Open = true
	default:
		k.addTerm(q.Term, depth)
	}
}

func (k *Keys) addTerm(t *gojq.Term, depth int) {
	switch t.Type {
	case gojq.TermTypeNull:
	case gojq.TermTypeQuery:
		k.Add(t.Query, depth)
	case gojq.TermTypeArray:
		if t.Array.Query != nil {
			k.Add(t.Array.Query, depth)
		}
	case gojq.TermTypeIf:
		k.Add(t.If.Then, depth)
		k.Add(t.If.Else, depth)
		for _, elif := range t.If.Elif {
			k.Add(elif.Then, depth)
		}
	case gojq.TermTypeObject:
		for _, m := range t.Object.KeyVals {
			switch {
			case m.Key != "" && !strings.HasPrefix(m.Key, "$"):
				k.Names = append(k.Names, m.Key)
			case m.KeyString != nil && m.KeyString.Queries == nil:
				k.Names = append(k.Names, m.KeyString.Str)
			default:
				k.Open = true
			}
		}
	case gojq.TermTypeFunc:
		k.addCall(t.Func, depth)
	default:
		k.Open = true
	}
}

// addCall adds the keys of the results of a call.
func (k *Keys) addCall(call *gojq.Func, depth int) {
	if call.Name == "empty" || call.Name == "error" {
		return
	}
	for _, f := range slices.Backward(k.Functions) {
		if f.Name == call.Name && len(call.Args) == 0 && len(f.Args) == 0 && depth > 0 {
			k.Add(f.Body, depth-1)
			return
		}
	}
	k.Open = true
}
