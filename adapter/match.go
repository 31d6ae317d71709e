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

// A Matcher is a query made ready to look at records one by one: for stores that
// find more than the query selects. It may be used concurrently.
type Matcher struct {
	all   [][]func(*look, Record) bool // of each condition its tests
	order func(a, b Record) int
	mark  Record // where the list begins, no record for its beginning

	matchBytes int64 // that of the query
	matched    atomic.Int64
}

// NewMatcher returns the matcher of q. It fails as [Apply] does.
func NewMatcher(schema *Schema, q *Query) (*Matcher, error) {
	m := &Matcher{all: make([][]func(*look, Record) bool, len(q.Where)), matchBytes: q.MatchBytes}
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
			m.all[i] = append(m.all[i], func(l *look, r Record) bool { return holds(l, r.Values[at]) })
		}
	}
	var err error
	if m.order, err = orderOf(schema, q); err != nil {
		return nil, err
	}
	if q.After != nil {
		m.mark = markRecord(schema, q)
	}
	return m, nil
}

// Selects reports whether the conditions select r. It fails with the error of ctx, and
// with kind Unavailable and the cause [ErrMatchLimit] when the records so far had more
// text than [Query.MatchBytes].
func (m *Matcher) Matches(ctx context.Context, r Record) (bool, error) {
	l := look{ctx: ctx, matcher: m, err: ctx.Err()}
	for _, anyOf := range m.all {
		holds := slices.ContainsFunc(anyOf, func(test func(*look, Record) bool) bool { return l.err == nil && test(&l, r) })
		if !holds || l.err != nil {
			return false, l.err
		}
	}
	return l.err == nil, l.err
}

// Behind reports whether r stands behind the mark After, as every record does
// without one.
func (m *Matcher) IsAfterCursor(r Record) bool { return m.mark.Schema == nil || m.order(r, m.mark) > 0 }

func unknownAttribute(schema *Schema, name string) error {
	return &Error{Kind: Invalid, Op: "query " + string(schema.Resource), Field: name}
}

func compileTest(kind Kind, t Test) (func(*look, Value) bool, error) {
	switch t.Op {
	case IsNull:
		return func(_ *look, v Value) bool { return v.Kind() == Null }, nil
	case IsNotNull:
		return func(_ *look, v Value) bool { return !v.Empty() }, nil
	}
	var holds func(*look, Value) bool
	switch t.Op {
	case Eq, NotEq, Gt, Lt, GtEq, LtEq:
		if len(t.Operands) != 1 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		compare := comparer(kind, t.Operands[0])
		holds = func(_ *look, v Value) bool { return verdict(t.Op, compare(v)) }
	case Within:
		if len(t.Operands) != 2 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		least, most := comparer(kind, t.Operands[0]), comparer(kind, t.Operands[1])
		holds = func(_ *look, v Value) bool { return least(v) >= 0 && most(v) <= 0 }
	case In, NotIn:
		isIn := membership(kind, t.Operands)
		holds = func(_ *look, v Value) bool { return isIn(v) == (t.Op == In) }
	case Like, NotLike, Matches:
		if len(t.Operands) != 1 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		expression, subject := likeExpression(t.Operands[0]), func(v Value) string { return Fold(v.Text()) }
		if t.Op == Matches {
			expression, subject = "(?i)"+t.Operands[0], Value.Text
		}
		re, err := regexp.Compile(expression)
		if err != nil {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute, Err: err}
		}
		holds = func(l *look, v Value) bool { return l.matches(re, subject(v)) != (t.Op == NotLike) }
	case InCommaList:
		if len(t.Operands) != 1 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		wanted := Fold(t.Operands[0])
		holds = func(l *look, v Value) bool {
			return l.spend(v.Text()) && slices.ContainsFunc(strings.Split(v.Text(), ","), func(s string) bool { return Fold(s) == wanted })
		}
	default:
		return nil, &Error{Kind: Unsupported, Op: "query", Field: t.Attribute}
	}
	return func(l *look, v Value) bool { return !v.Empty() && holds(l, v) }, nil
}

// membership returns a function that tells whether a value equals one of the
// operands. Each value is read once, however many operands there are.
func membership(kind Kind, operands []string) func(Value) bool {
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

func verdict(op Op, c int) bool {
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

// comparer returns a function that compares a value with operand, by kind.
func comparer(kind Kind, operand string) func(Value) int {
	switch kind {
	case KindInteger, KindDecimal:
		number := rational(operand)
		units, small := tenThousandths(operand)
		return func(v Value) int {
			if u, ok := tenThousandths(v.Text()); ok && small {
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

// tenThousandths reads the numbers that nearly all are: at most four places and
// small enough to be counted in units of the last one.
func tenThousandths(s string) (units int64, ok bool) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(whole) == 0 || len(whole) > 14 || len(fraction) > 4 {
		return 0, false
	}
	for _, part := range []string{whole, fraction, "0000"[len(fraction):]} {
		for i := range len(part) {
			if part[i] < '0' || part[i] > '9' {
				return 0, false
			}
			units = units*10 + int64(part[i]-'0')
		}
	}
	if negative {
		units = -units
	}
	return units, true
}

// rational reads canonical number text exactly; anything else is 0.
func rational(s string) *big.Rat {
	if r, ok := new(big.Rat).SetString(s); ok {
		return r
	}
	return new(big.Rat)
}

// likeExpression turns an SQL pattern into an expression for folded texts.
func likeExpression(pattern string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	escaped := false
	for _, r := range FoldPattern(pattern) {
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
