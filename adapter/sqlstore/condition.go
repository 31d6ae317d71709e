package sqlstore

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

const (
	// maxPattern is the longest LIKE pattern, in bytes, that engines match without running
	// out of stack.
	maxPattern = 4096
	// maxArguments bounds the arguments of a statement, and so the depth of its
	// expressions. SQLite has the lowest limit of depth, 1000.
	maxArguments = 500
)

// A selection is the part of a query that SQL evaluates exactly as adapter.Apply does.
type selection struct {
	Where    []string
	Residual []adapter.Condition // conditions that must be evaluated for each record
	Order    []string            // empty if SQL cannot produce the order
	After    string              // condition for the start of the page, "" if SQL cannot express it
	// Tail is the condition of the records that sort after all records of After, "" if
	// there are none. A second statement reads them, as no index range covers both.
	Tail string
	// ResidualOnParts is true if residual conditions concern values that the rows of the
	// table do not hold.
	ResidualOnParts bool
	UsesJoin        bool // the query names an attribute of the joined table
	arguments       int  // remaining number of arguments that the statement may have
}

// Attribute returns the schema index of an attribute that a query names, and records
// whether it needs the join.
func (s *selection) Attribute(t *engine.Table, name string) (at int, err error) {
	at, ok := t.Schema.Index(name)
	if !ok {
		return 0, &adapter.Error{Kind: adapter.Unsupported, Op: "query " + string(t.Schema.Resource), Field: name}
	}
	s.UsesJoin = s.UsesJoin || t.Columns[at].Joined
	return at, nil
}

// condition returns an expression for the whole condition. exact is false if SQL cannot
// evaluate it exactly.
func (s *selection) condition(e *engine.Engine, sb *sqlbuilder.SelectBuilder, t *engine.Table, c adapter.Condition) (expression string, exact bool, err error) {
	if len(c.Any) == 0 {
		return never, true, nil
	}
	exact = true
	anyOf := make([]string, 0, len(c.Any))
	for _, test := range c.Any {
		at, err := s.Attribute(t, test.Attribute)
		if err != nil {
			return "", false, err
		}
		s.arguments -= 1 + len(test.Operands)
		if !exact || s.arguments < 0 {
			exact = false
			continue
		}
		w := conditionWriter{engine: e, sb: sb, table: t, column: &t.Columns[at], kind: t.Schema.Attributes[at].Kind}
		expression := w.translate(test)
		exact = expression != ""
		anyOf = append(anyOf, expression)
	}
	return sb.Or(anyOf...), exact, nil
}

// never is a condition that no row meets.
const never = "1 = 0"

// A conditionWriter translates tests of one attribute to SQL.
type conditionWriter struct {
	engine *engine.Engine
	sb     *sqlbuilder.SelectBuilder
	table  *engine.Table
	column *engine.Column
	kind   adapter.Kind
}

// translate returns an expression for t, or "" if SQL cannot evaluate it exactly.
func (w *conditionWriter) translate(t adapter.Test) string {
	if w.column.Name == "" {
		return ""
	}
	if slices.ContainsFunc(t.Operands, func(s string) bool { return strings.ContainsRune(s, 0) }) {
		return "" // PostgreSQL rejects it in texts, and other engines end a pattern at it
	}
	switch t.Op {
	case adapter.IsNull:
		return w.isNull(t.Attribute)
	case adapter.IsNotNull:
		return w.sb.IsNotNull(w.column.Name)
	case adapter.In, adapter.NotIn:
		return w.in(t.Op, t.Operands)
	case adapter.Within:
		return w.within(t)
	}
	if len(t.Operands) != 1 {
		return ""
	}
	switch t.Op {
	case adapter.Like, adapter.NotLike:
		return w.like(t.Op, t.Operands[0])
	case adapter.Eq, adapter.NotEq, adapter.Gt, adapter.Lt, adapter.GtEq, adapter.LtEq:
		switch w.kind {
		case adapter.KindInteger, adapter.KindDecimal:
			return w.compareNumber(t.Op, t.Operands[0])
		case adapter.KindText:
			return w.compare(t.Op, w.column.Folded, adapter.Fold(t.Operands[0]))
		case adapter.KindTime:
			return w.compareTime(t.Op, t.Operands[0])
		}
	}
	return ""
}

// isNull matches values stored as null. Where the table records the difference, values
// that were never stored do not match.
func (w *conditionWriter) isNull(attribute string) string {
	if w.column.Null != "" {
		return w.column.Null
	}
	null := w.sb.IsNull(w.column.Name)
	if !w.table.Nulls {
		return null
	}
	return w.sb.And(null, w.engine.ListedAsNull(w.sb, w.table.Name+".nulls", attribute))
}

// within translates a range to its two limits.
func (w *conditionWriter) within(t adapter.Test) string {
	if len(t.Operands) != 2 {
		return ""
	}
	least := w.translate(adapter.Test{Attribute: t.Attribute, Op: adapter.GtEq, Operands: t.Operands[:1]})
	most := w.translate(adapter.Test{Attribute: t.Attribute, Op: adapter.LtEq, Operands: t.Operands[1:]})
	if least == "" || most == "" {
		return ""
	}
	return w.sb.And(least, most)
}

func (w *conditionWriter) compare(op adapter.Op, column string, argument any) string {
	if column == "" {
		return ""
	}
	signs := [...]string{adapter.Eq: "=", adapter.NotEq: "<>", adapter.Gt: ">", adapter.Lt: "<", adapter.GtEq: ">=", adapter.LtEq: "<="}
	return column + " " + signs[op] + " " + w.sb.Var(argument)
}

// compareNumber compares with an operand that may have more decimal places than the
// column, or exceed its range.
func (w *conditionWriter) compareNumber(op adapter.Op, text string) string {
	o, ok := w.operand(text)
	switch {
	case !ok:
		return ""
	case o.exact:
		return w.compare(op, w.column.Name, w.unitsArgument(o.units))
	}
	more := op == adapter.Gt || op == adapter.GtEq
	switch {
	case op == adapter.Eq, o.above && more, o.below && !more && op != adapter.NotEq:
		return never
	case op == adapter.NotEq, o.above, o.below:
		return w.sb.IsNotNull(w.column.Name)
	case more:
		return w.compare(adapter.Gt, w.column.Name, w.unitsArgument(o.units))
	default:
		return w.compare(adapter.LtEq, w.column.Name, w.unitsArgument(o.units))
	}
}

// compareTime compares with an operand that may precede all storable times, or be no
// time at all.
func (w *conditionWriter) compareTime(op adapter.Op, text string) string {
	switch {
	case adapter.IsTime(text):
		return w.compare(op, w.column.Name, text)
	case text >= adapter.FirstTime:
		return ""
	case op == adapter.Eq || op == adapter.Lt || op == adapter.LtEq:
		return never
	default:
		return w.sb.IsNotNull(w.column.Name)
	}
}

// operand parses an operand in units of the attribute's last decimal place.
func (w *conditionWriter) operand(text string) (operand, bool) {
	if w.kind == adapter.KindDecimal {
		return parseOperand(text, engine.DecimalPlaces, engine.MaxDecimal)
	}
	return parseOperand(text, 0, math.MaxInt64)
}

// unitsArgument returns the argument of a statement for a number in those units.
func (w *conditionWriter) unitsArgument(units int64) any {
	if w.kind == adapter.KindDecimal {
		return w.engine.Decimal(units)
	}
	return units
}

func (w *conditionWriter) in(op adapter.Op, operands []string) string {
	column := w.column.SortColumn(w.kind)
	if column == "" {
		return ""
	}
	arguments := make([]any, 0, len(operands))
	for _, text := range operands {
		switch w.kind {
		case adapter.KindText:
			arguments = append(arguments, adapter.Fold(text))
		case adapter.KindTime:
			switch {
			case adapter.IsTime(text):
				arguments = append(arguments, text)
			case text >= adapter.FirstTime:
				return ""
			}
		default:
			o, ok := w.operand(text)
			if !ok {
				return ""
			}
			if o.exact {
				arguments = append(arguments, w.unitsArgument(o.units))
			}
		}
	}
	arguments = engine.PadToPowerOfTwo(arguments)
	switch {
	case len(arguments) > 0 && op == adapter.In:
		return w.sb.In(column, arguments...)
	case len(arguments) > 0:
		return w.sb.NotIn(column, arguments...)
	case op == adapter.In:
		return never
	default:
		return w.sb.IsNotNull(column)
	}
}

// like matches a pattern against the folded text, with its trailing blanks where they matter.
func (w *conditionWriter) like(op adapter.Op, pattern string) string {
	pattern = adapter.FoldWithBlanks(pattern)
	if w.kind != adapter.KindText || w.column.Folded == "" || len(pattern) >= maxPattern {
		return ""
	}
	if endsInLoneEscape(pattern) {
		pattern += `\`
	}
	not := map[adapter.Op]string{adapter.NotLike: "NOT "}[op]
	if ignoresTrailingBlanks(pattern) {
		return fmt.Sprintf(w.engine.LikeFormat, w.column.Folded, not, w.sb.Var(pattern))
	}
	whole := fmt.Sprintf(w.engine.LikeFormat, fmt.Sprintf(w.engine.WithTrailingBlanks, w.column.Folded, w.column.Name), not, w.sb.Var(pattern))
	beginning := strings.TrimRight(pattern[:strings.IndexAny(pattern+"%", `%_\`)], " ")
	if op == adapter.NotLike || beginning == "" {
		return whole
	}
	return w.sb.And(fmt.Sprintf(w.engine.LikeFormat, w.column.Folded, "", w.sb.Var(beginning+"%")), whole) // by an index
}

// ignoresTrailingBlanks reports whether a pattern surely matches a text if and only if it matches the
// text without its trailing blanks, as folded columns hold it.
func ignoresTrailingBlanks(pattern string) bool {
	beginning := strings.TrimRight(pattern, "%")
	return beginning != pattern && !strings.ContainsAny(beginning[max(0, len(beginning)-1):], ` _\`)
}

// endsInLoneEscape reports whether a pattern ends in an escape character that escapes
// nothing, and so stands for itself.
func endsInLoneEscape(pattern string) bool {
	trailing := len(pattern) - len(strings.TrimRight(pattern, `\`))
	return trailing%2 == 1
}

// An operand is a number in units of an attribute's last decimal place. If exact, it
// equals units; otherwise it lies between units and units+1. below and above mark
// numbers that are less or greater than all values of the column.
type operand struct {
	units        int64
	exact        bool
	below, above bool
}

// parseOperand parses a number in plain notation: digits with an optional sign and an
// optional decimal point. places is the number of decimal places that the attribute
// has, limit the greatest number of units that its column can hold.
func parseOperand(s string, places int, limit int64) (o operand, ok bool) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	digits, fraction, point := 0, 0, false
	rest, over := false, false
	push := func(d int64) {
		if o.units > (limit-d)/10 {
			over = true
			return
		}
		o.units = o.units*10 + d
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return operand{}, false
		case point && fraction == places:
			digits++
			rest = rest || c != '0'
		default:
			digits++
			if point {
				fraction++
			}
			push(int64(c - '0'))
		}
	}
	for ; fraction < places; fraction++ {
		push(0)
	}
	switch {
	case digits == 0:
		return operand{}, false
	case over:
		return operand{below: negative, above: !negative}, true
	case negative && rest:
		return operand{units: -o.units - 1}, true
	case negative:
		return operand{units: -o.units, exact: true}, true
	default:
		return operand{units: o.units, exact: !rest}, true
	}
}
