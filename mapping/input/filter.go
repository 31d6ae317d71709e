package input

import (
	"errors"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Limits on the comparisons that one request may ask a store for.
const (
	maxTests = 1000
	// maxPattern limits the total weight of all patterns: the characters of like, and the
	// expressionSize of regular expressions after expanding their repetitions. Each costs time for
	// each character of each record: at worst an engine matches like in time proportional to
	// the product of both lengths, with any number of wildcards.
	maxPattern = 1000
	// anyWeight is the weight of _ in like and of a part of a regular expression. They weigh
	// more than a letter, because a letter usually ends the attempt to match.
	anyWeight = 5
)

// operators returns the operators of the original except from, to and is; any other name is
// treated as a list of alternatives.
func operators() map[string]adapter.Op {
	return map[string]adapter.Op{
		"eq": adapter.Eq, "neq": adapter.NotEq, "seq": adapter.Eq, "sneq": adapter.NotEq,
		"like": adapter.Like, "nlike": adapter.NotLike, "in": adapter.In, "nin": adapter.NotIn,
		"gt": adapter.Gt, "lt": adapter.Lt, "gteq": adapter.GtEq, "lteq": adapter.LtEq,
		"null": adapter.IsNull, "notnull": adapter.IsNotNull,
		"finset": adapter.InCommaList, "regexp": adapter.Matches,
	}
}

// Operators returns the names of the operators of a filter, sorted.
func Operators() []string {
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(operators())), []string{rangeFrom, rangeTo})))
}

// The two ends of a range in a filter.
const (
	rangeFrom = "from"
	rangeTo   = "to"
)

func (r Reader) parseFilter(schema *adapter.Schema, query *codec.Node) ([]adapter.Condition, error) {
	filter, sent := query.Get("filter")
	if !sent || filter.Kind == codec.Text && filter.Text == "" {
		return nil, nil
	}
	refused := r.Dialect.Fault(contract.FilteringError)
	if filter.Kind != codec.Struct {
		return nil, refused
	}
	f := filterReader{
		operators: operators(),
		refused:   refused,
		crash:     r.Dialect.Fault(contract.FilteringCrash),
		now:       r.Now,
	}
	if f.now == nil {
		f.now = time.Now
	}
	where := make([]adapter.Condition, 0, len(filter.Members))
	for _, entry := range filter.Members {
		name, named := entry.Value.Get("attribute")
		if !named {
			return nil, refused
		}
		field, ok := r.queryable(name)
		if !ok || field.Filter == contract.Unfilterable {
			return nil, refused
		}
		if field.Filter == contract.FilterCrash {
			return nil, f.crash
		}
		var attribute adapter.Attribute // text for a computed field
		if at, stored := schema.Index(field.Attribute); stored {
			attribute = schema.Attributes[at]
		}
		tests, err := f.alternatives(attribute, withoutAttribute(entry.Value.Members))
		if r.Unapplied && r.Dialect.UnappliedFilters && errors.Is(err, f.crash) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch field.Filter {
		case contract.FilterByValue:
			where = append(where, adapter.Condition{Any: tests})
		case contract.FilterMatchesNone:
			where = append(where, adapter.Condition{})
		}
	}
	return where, nil
}

func withoutAttribute(members []codec.Member) []codec.Member {
	rest := make([]codec.Member, 0, len(members))
	for _, m := range members {
		if m.Key != "attribute" {
			rest = append(rest, m)
		}
	}
	return rest
}

// filterReader parses the filter entries of one request.
type filterReader struct {
	operators      map[string]adapter.Op
	refused, crash contract.Fault
	now            func() time.Time
	tests          int // number of tests so far
	pattern        int // weight of patterns so far
}

// alternatives parses one condition into tests, any of which must hold. A range has priority,
// then the first operator sent; without either, every value is an alternative: a text is an
// equality test, and a structure a nested condition.
func (f *filterReader) alternatives(a adapter.Attribute, condition []codec.Member) ([]adapter.Test, error) {
	if f.tests++; f.tests > maxTests {
		return nil, f.refused
	}
	if len(condition) == 0 {
		return nil, f.crash
	}
	node := codec.Node{Kind: codec.Struct, Members: condition}
	from, hasFrom := node.Get(rangeFrom)
	to, hasTo := node.Get(rangeTo)
	if hasFrom || hasTo {
		return f.between(a, &node, from, to)
	}
	for _, m := range condition {
		if m.Key == "is" {
			return nil, f.crash
		}
		if op, known := f.operators[m.Key]; known {
			test, err := f.test(a, op, m)
			return []adapter.Test{test}, err
		}
	}
	var all []adapter.Test
	for _, m := range condition {
		if m.Value.Kind == codec.Struct {
			tests, err := f.alternatives(a, m.Value.Members)
			if err != nil {
				return nil, err
			}
			all = append(all, tests...)
			continue
		}
		if f.tests++; f.tests > maxTests {
			return nil, f.refused
		}
		all = append(all, comparison(a, adapter.Eq, m.Value.Text))
	}
	return all, nil
}

// between parses from and to, at least one of which is present. With a key date or datetime
// in the condition, the original converts both to dates first, whatever the attribute is.
func (f *filterReader) between(a adapter.Attribute, condition, from, to *codec.Node) ([]adapter.Test, error) {
	converted := isTruthy(condition, "date") || isTruthy(condition, "datetime")
	var texts []string
	for _, limit := range []*codec.Node{from, to} {
		if limit == nil {
			continue
		}
		text, ok := singleText(limit)
		if !ok {
			return nil, f.crash
		}
		if converted {
			if text, ok = f.convertDate(text); !ok {
				return []adapter.Test{{Attribute: a.Name, Op: adapter.In}}, nil // compared with null
			}
		}
		texts = append(texts, text)
	}
	op := adapter.LtEq
	switch {
	case from != nil && to != nil:
		op = adapter.Within
	case from != nil:
		op = adapter.GtEq
	}
	return []adapter.Test{comparison(a, op, texts...)}, nil
}

// isTruthy reports whether a structure has a value of a name that PHP takes for true.
func isTruthy(n *codec.Node, name string) bool {
	value, ok := n.Get(name)
	switch {
	case !ok:
		return false
	case value.Kind == codec.Struct:
		return len(value.Members) > 0
	default:
		return value.Text != "" && value.Text != "0"
	}
}

// convertDate returns a text as the original converts it beside a key date or datetime: a number is
// a time in seconds since 1970, any other text is parsed as PHP does, and a text that PHP cannot
// parse is second 0. It is false for an empty text and 0, which become null.
func (f *filterReader) convertDate(text string) (string, bool) {
	if text == "" || text == "0" {
		return "", false
	}
	seconds, isNumber := codec.ParseNumber(text)
	t := time.Unix(0, 0).UTC()
	switch parsed, ok := ParsePHPTime(text, f.now()); {
	case isNumber && math.Abs(seconds) > maxUnix:
		return noTime, true
	case isNumber:
		t = time.Unix(int64(seconds), 0).UTC()
	case ok:
		t = parsed
	}
	return t.Format(time.DateTime), true
}

// maxUnix is a number of seconds beyond which no time is storable, before 1970 and after.
const maxUnix = 1e12

// test parses one operator with its value.
func (f *filterReader) test(a adapter.Attribute, op adapter.Op, m codec.Member) (adapter.Test, error) {
	test := adapter.Test{Attribute: a.Name, Op: op}
	switch op {
	case adapter.IsNull, adapter.IsNotNull:
		return test, nil
	case adapter.In, adapter.NotIn:
		return f.list(a, op, &m.Value)
	}
	text, ok := singleText(&m.Value)
	if !ok {
		return test, f.crash
	}
	if text == "" && (m.Key == "seq" || m.Key == "sneq") {
		test.Op = adapter.IsNull
		if m.Key == "sneq" {
			test.Op = adapter.IsNotNull
		}
		return test, nil
	}
	return comparison(a, op, text), f.addPattern(op, text)
}

// addPattern adds the weight of a pattern to the request's total, and fails over the limit.
func (f *filterReader) addPattern(op adapter.Op, pattern string) error {
	switch op {
	case adapter.Like, adapter.NotLike:
		f.pattern += utf8.RuneCountInString(pattern) + (anyWeight-1)*strings.Count(pattern, "_")
	case adapter.Matches:
		if len(pattern) > maxPattern {
			return f.refused
		}
		// A prefix makes the expression ignore letter case, as in [adapter.Apply].
		expression, err := syntax.Parse("(?i)"+pattern, syntax.Perl)
		if err != nil {
			return f.crash
		}
		f.pattern += anyWeight * expressionSize(expression)
	}
	if f.pattern > maxPattern {
		return f.refused
	}
	return nil
}

// expressionSize returns the number of parts of a regular expression after expanding its repetitions:
// the number of states that matching it must track.
func expressionSize(expression *syntax.Regexp) int {
	n := 1 + len(expression.Rune)
	if expression.Op == syntax.OpCharClass {
		n = 1
	}
	for _, sub := range expression.Sub {
		n += expressionSize(sub)
	}
	if expression.Op == syntax.OpRepeat {
		n *= max(expression.Min, expression.Max, 1)
	}
	return n
}

// list parses the values of in and nin; a single text is one value.
func (f *filterReader) list(a adapter.Attribute, op adapter.Op, value *codec.Node) (adapter.Test, error) {
	if value.Kind != codec.Struct {
		return comparison(a, op, value.Text), nil
	}
	if f.tests += len(value.Members); f.tests > maxTests {
		return adapter.Test{}, f.refused
	}
	texts := make([]string, 0, len(value.Members))
	for i := range value.Members {
		item := &value.Members[i].Value
		if item.Kind == codec.Struct {
			return adapter.Test{}, f.crash
		}
		texts = append(texts, item.Text)
	}
	return comparison(a, op, texts...), nil
}

// singleText returns the single text of a value: the text itself, or the only entry of a list.
func singleText(n *codec.Node) (string, bool) {
	if n.Kind != codec.Struct {
		return n.Text, true
	}
	if len(n.Members) != 1 || n.Members[0].Value.Kind == codec.Struct {
		return "", false
	}
	return n.Members[0].Value.Text, true
}

// comparison returns the test that compares an attribute by op with the texts of a filter. Its
// operands are in the canonical form of [adapter.Query]: the leading part of a number, the
// start of a date, a text unchanged.
func comparison(a adapter.Attribute, op adapter.Op, texts ...string) adapter.Test {
	if a.Kind == adapter.KindTime && !op.TextOnly() {
		return timeComparison(a.Name, op, texts)
	}
	test := adapter.Test{Attribute: a.Name, Op: op}
	for _, text := range texts {
		if (a.Kind == adapter.KindInteger || a.Kind == adapter.KindDecimal) && !op.TextOnly() {
			text = plainNumber(codec.LeadingNumber(text))
		}
		test.Operands = append(test.Operands, text)
	}
	return test
}

// noTime is an operand that is before all times and equals none.
const noTime = ""

// timeComparison returns the test that compares a time by op with the moments in texts.
func timeComparison(attribute string, op adapter.Op, texts []string) adapter.Test {
	test := adapter.Test{Attribute: attribute, Op: op}
	for i, text := range texts {
		m := readMoment(text)
		operand := m.second
		switch {
		case !m.after:
		case op == adapter.GtEq: // later than the moment is later than the second before it
			test.Op = adapter.Gt
		case op == adapter.Lt:
			test.Op = adapter.LtEq
		case op == adapter.Within && i == 0:
			var ok bool
			if operand, ok = m.next(); !ok {
				return adapter.Test{Attribute: attribute, Op: adapter.LtEq, Operands: []string{noTime}}
			}
		case op != adapter.Gt && op != adapter.LtEq && op != adapter.Within:
			operand = noTime
		}
		test.Operands = append(test.Operands, operand)
	}
	return test
}

// plainNumber formats f without an exponent. Numbers far out of range of every column are
// clamped to one that is still out of range.
func plainNumber(f float64) string {
	const beyond = 1e20
	return strconv.FormatFloat(math.Max(-beyond, math.Min(f, beyond)), 'f', -1, 64)
}
