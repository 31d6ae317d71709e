package adapter

import (
	"cmp"
	"context"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// A Matcher is a query compiled for testing records one by one, for stores that find more
// records than the query selects. It is safe for concurrent use.
type Matcher struct {
	conditions [][]func(*evaluation, Record) bool // for each condition its tests
	order      func(a, b Record) int
	cursor     Record // the position q.After; its Schema is nil if there is none

	matchBytes int64 // Query.MatchBytes
	matched    atomic.Int64
}

// NewMatcher compiles q. It fails as [Apply] does.
func NewMatcher(schema *Schema, q *Query) (*Matcher, error) {
	m := &Matcher{conditions: make([][]func(*evaluation, Record) bool, len(q.Where)), matchBytes: q.MatchBytes}
	for i, condition := range q.Where {
		for _, t := range condition.Any {
			at, ok := schema.Index(t.Attribute)
			if !ok {
				return nil, unknownAttribute(schema, t.Attribute)
			}
			holds, err := compileTest(schema.Attributes[at].Kind, t)
			if err != nil {
				return nil, err
			}
			m.conditions[i] = append(m.conditions[i], func(e *evaluation, r Record) bool { return holds(e, r.Values[at]) })
		}
	}
	var err error
	if m.order, err = orderOf(schema, q); err != nil {
		return nil, err
	}
	if q.After != nil {
		m.cursor = cursorRecord(schema, q)
	}
	return m, nil
}

// Matches reports whether r meets the conditions. It fails with the error of ctx, and with
// kind Unavailable and the cause [ErrMatchLimit] once the records tested so far exceed
// [Query.MatchBytes].
func (m *Matcher) Matches(ctx context.Context, r Record) (bool, error) {
	e := evaluation{ctx: ctx, matcher: m, err: ctx.Err()}
	for _, anyOf := range m.conditions {
		holds := slices.ContainsFunc(anyOf, func(test func(*evaluation, Record) bool) bool { return e.err == nil && test(&e, r) })
		if !holds || e.err != nil {
			return false, e.err
		}
	}
	return e.err == nil, e.err
}

// IsAfterCursor reports whether r comes after q.After in the order of the query. It is true
// for every record if there is no cursor.
func (m *Matcher) IsAfterCursor(r Record) bool {
	return m.cursor.Schema == nil || m.order(r, m.cursor) > 0
}

func unknownAttribute(schema *Schema, name string) error {
	return &Error{Kind: Unsupported, Op: "query " + string(schema.Resource), Field: name}
}

func compileTest(kind Kind, t Test) (func(*evaluation, Value) bool, error) {
	switch t.Op {
	case IsNull:
		return func(_ *evaluation, v Value) bool { return v.Kind() == Null }, nil
	case IsNotNull:
		return func(_ *evaluation, v Value) bool { return !v.Empty() }, nil
	}
	var holds func(*evaluation, Value) bool
	switch t.Op {
	case Eq, NotEq, Gt, Lt, GtEq, LtEq:
		if len(t.Operands) != 1 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		compare := comparer(kind, t.Operands[0])
		holds = func(_ *evaluation, v Value) bool { return satisfies(t.Op, compare(v)) }
	case Within:
		if len(t.Operands) != 2 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		lower, upper := comparer(kind, t.Operands[0]), comparer(kind, t.Operands[1])
		holds = func(_ *evaluation, v Value) bool { return lower(v) >= 0 && upper(v) <= 0 }
	case In, NotIn:
		isIn := memberOf(kind, t.Operands)
		holds = func(_ *evaluation, v Value) bool { return isIn(v) == (t.Op == In) }
	case Like, NotLike, Matches:
		if len(t.Operands) != 1 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		expression, subject := likeExpression(t.Operands[0]), func(v Value) string { return FoldWithBlanks(v.Text()) }
		if t.Op == Matches {
			expression, subject = "(?i)"+t.Operands[0], Value.Text
		}
		re, err := regexp.Compile(expression)
		if err != nil {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute, Err: err}
		}
		holds = func(e *evaluation, v Value) bool { return e.matchesPattern(re, subject(v)) != (t.Op == NotLike) }
	case InCommaList:
		if len(t.Operands) != 1 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		wanted := FoldWithBlanks(t.Operands[0])
		holds = func(e *evaluation, v Value) bool {
			return e.countText(v.Text()) && slices.ContainsFunc(strings.Split(v.Text(), ","), func(s string) bool { return FoldWithBlanks(s) == wanted })
		}
	default:
		return nil, &Error{Kind: Unsupported, Op: "query", Field: t.Attribute}
	}
	return func(e *evaluation, v Value) bool { return !v.Empty() && holds(e, v) }, nil
}

// memberOf returns a function that reports whether a value equals one of the operands. It
// canonicalizes each value only once, however many operands there are.
func memberOf(kind Kind, operands []string) func(Value) bool {
	canonical := func(s string) string { return s }
	switch kind {
	case KindInteger, KindDecimal:
		canonical = func(s string) string { return rational(s).RatString() }
	case KindText:
		canonical = Fold
	}
	set := make(map[string]bool, len(operands))
	for _, operand := range operands {
		set[canonical(operand)] = true
	}
	return func(v Value) bool { return set[canonical(v.Text())] }
}

// satisfies reports whether the result of a three-way comparison meets an operator.
func satisfies(op Op, c int) bool {
	switch op {
	case Eq:
		return c == 0
	case NotEq:
		return c != 0
	case Gt:
		return c > 0
	case Lt:
		return c < 0
	case GtEq:
		return c >= 0
	default: // LtEq
		return c <= 0
	}
}

// comparer returns a function that compares a value with operand according to kind.
func comparer(kind Kind, operand string) func(Value) int {
	switch kind {
	case KindInteger, KindDecimal:
		number := rational(operand)
		units, small := ParseDecimal(operand)
		return func(v Value) int {
			if u, ok := ParseDecimal(v.Text()); ok && small {
				return cmp.Compare(u, units)
			}
			return rational(v.Text()).Cmp(number)
		}
	case KindText:
		folded := Fold(operand)
		return func(v Value) int { return cmp.Compare(Fold(v.Text()), folded) }
	default:
		return func(v Value) int { return cmp.Compare(v.Text(), operand) }
	}
}

// rational parses canonical number text exactly; anything else is 0.
func rational(s string) *big.Rat {
	if r, ok := new(big.Rat).SetString(s); ok {
		return r
	}
	return new(big.Rat)
}

// likeExpression translates an SQL pattern to a regular expression for texts that [FoldWithBlanks] folds.
func likeExpression(pattern string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	escaped := false
	for _, r := range FoldWithBlanks(pattern) {
		switch {
		case !escaped && r == '\\':
			escaped = true
			continue
		case !escaped && r == '%':
			b.WriteString(".*")
		case !escaped && r == '_':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		escaped = false
	}
	if escaped {
		b.WriteString(`\\`)
	}
	b.WriteString(`\z`)
	return b.String()
}
