package adapter

import (
	"cmp"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// Apply selects, sorts and cuts records as q says, and returns how many the
// conditions selected before the cut. It defines what every store's list means.
// It fails with kind Invalid when q names an attribute the schema lacks or an
// expression that does not compile.
func Apply(schema *Schema, records []Record, q *Query) (page []Record, total int64, err error) {
	tests, err := compile(schema, q)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range records {
		if tests.hold(r) {
			page = append(page, r)
		}
	}
	total = int64(len(page))
	if err := sortRecords(schema, page, q); err != nil {
		return nil, 0, err
	}
	if q.Offset >= total {
		return nil, total, nil
	}
	page = page[q.Offset:]
	if q.Limit > 0 && int64(len(page)) > q.Limit {
		page = page[:q.Limit]
	}
	return page, total, nil
}

// compiled are conditions whose attributes are found and patterns compiled.
type compiled [][]func(Record) bool

func (all compiled) hold(r Record) bool {
	for _, anyOf := range all {
		if !slices.ContainsFunc(anyOf, func(test func(Record) bool) bool { return test(r) }) {
			return false
		}
	}
	return true
}

func compile(schema *Schema, q *Query) (compiled, error) {
	all := make(compiled, len(q.Where))
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
			all[i] = append(all[i], func(r Record) bool { return holds(r.Values[at]) })
		}
	}
	return all, nil
}

func unknownAttribute(schema *Schema, name string) error {
	return &Error{Kind: Invalid, Op: "query " + string(schema.Resource), Field: name}
}

func compileTest(kind Kind, t Test) (func(Value) bool, error) {
	switch t.Op {
	case IsNull:
		return func(v Value) bool { return v.Kind() == Null }, nil
	case IsNotNull:
		return func(v Value) bool { return !v.Empty() }, nil
	}
	var holds func(Value) bool
	switch t.Op {
	case Eq, NotEq, Gt, Lt, GtEq, LtEq:
		if len(t.Operands) != 1 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		compare := comparer(kind, t.Operands[0])
		holds = func(v Value) bool { return verdict(t.Op, compare(v)) }
	case Within:
		if len(t.Operands) != 2 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		least, most := comparer(kind, t.Operands[0]), comparer(kind, t.Operands[1])
		holds = func(v Value) bool { return least(v) >= 0 && most(v) <= 0 }
	case In, NotIn:
		isIn := membership(kind, t.Operands)
		holds = func(v Value) bool { return isIn(v) == (t.Op == In) }
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
		holds = func(v Value) bool { return re.MatchString(subject(v)) != (t.Op == NotLike) }
	case InCommaList:
		if len(t.Operands) != 1 {
			return nil, &Error{Kind: Invalid, Op: "query", Field: t.Attribute}
		}
		wanted := Fold(t.Operands[0])
		holds = func(v Value) bool {
			return slices.ContainsFunc(strings.Split(v.Text(), ","), func(s string) bool { return Fold(s) == wanted })
		}
	default:
		return nil, &Error{Kind: Unsupported, Op: "query", Field: t.Attribute}
	}
	return func(v Value) bool { return !v.Empty() && holds(v) }, nil
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

func sortRecords(schema *Schema, records []Record, q *Query) error {
	key, _ := schema.Index(schema.Key)
	byKey := func(a, b Record) int { return cmp.Compare(a.Values[key].Int(), b.Values[key].Int()) }
	if q.OrderBy == "" {
		slices.SortStableFunc(records, byKey)
		return nil
	}
	at, ok := schema.Index(q.OrderBy)
	if !ok {
		return unknownAttribute(schema, q.OrderBy)
	}
	kind := schema.Attributes[at].Kind
	slices.SortStableFunc(records, func(a, b Record) int {
		c := compareValues(kind, a.Values[at], b.Values[at])
		if q.Desc {
			c = -c
		}
		if c == 0 {
			return byKey(a, b)
		}
		return c
	})
	return nil
}

func compareValues(kind Kind, a, b Value) int {
	switch {
	case a.Empty() || b.Empty():
		return cmp.Compare(filled(a), filled(b))
	default:
		return comparer(kind, b.Text())(a)
	}
}

func filled(v Value) int {
	if v.Empty() {
		return 0
	}
	return 1
}
