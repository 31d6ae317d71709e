package dataset

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/portico-commerce/portico/adapter"
)

// A valueForm describes how values of a kind are written.
type valueForm struct {
	must    string   // the required form, for errors
	types   []string // in JSON
	pattern string
}

// formOf returns the form in which values of a kind are written. Some flags are texts in the
// store and may be numbers in a data set.
func formOf(kind adapter.Kind) valueForm {
	switch kind {
	case adapter.KindInteger:
		return valueForm{must: "must be a whole number", types: []string{"integer"}}
	case adapter.KindDecimal:
		return valueForm{must: `must be a text with four decimal places, such as "12.5000"`, types: []string{"string"}, pattern: decimalPattern.String()}
	case adapter.KindTime:
		return valueForm{must: `must be a time, such as "2012-03-01 10:00:00"`, types: []string{"string"}, pattern: `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`}
	case adapter.KindTexts:
		return valueForm{must: "must be a list of texts without line breaks", types: []string{"array"}, pattern: `^[^\n]*$`}
	default:
		return valueForm{must: "must be a text", types: []string{"string", "integer"}}
	}
}

// decimalPattern matches decimals with four places (contract 2, convention 5). It leaves room
// for stored values that clients may not write.
var decimalPattern = regexp.MustCompile(`^-?[0-9]{1,14}\.[0-9]{4}$`)

// decodeValue decodes the value of an attribute.
func (d *decoder) decodeValue(m *member, schema *adapter.Schema, pointer jsontext.Pointer, raw jsontext.Value) adapter.Value {
	v, ok := parseValue(m.attribute.Kind, raw)
	switch {
	case !ok:
		d.addError(pointer, "%s", formOf(m.attribute.Kind).must)
	case m.name == schema.Key && v.Int() < 1 && schema.Resource != adapter.CustomerGroups:
		d.addError(pointer, "must be a number above 0")
	case m.refers != "" && !v.Empty():
		d.references = append(d.references, reference{pointer, m.refers, v.Int()})
	}
	return v
}

// parseValue returns the value of a kind that is written as raw. ok is false if it cannot be.
func parseValue(kind adapter.Kind, raw jsontext.Value) (v adapter.Value, ok bool) {
	if raw.Kind() == 'n' {
		return adapter.NullValue(), true
	}
	switch kind {
	case adapter.KindInteger:
		i, err := strconv.ParseInt(string(raw), 10, 64)
		return adapter.IntegerValue(i), err == nil
	case adapter.KindDecimal:
		s, ok := textOf(raw)
		return adapter.TextValue(s), ok && decimalPattern.MatchString(s)
	case adapter.KindTime:
		s, ok := textOf(raw)
		return adapter.TextValue(s), ok && adapter.IsTime(s)
	case adapter.KindTexts:
		var texts []string
		err := json.Unmarshal(raw, &texts)
		return adapter.TextsValue(texts), err == nil && !strings.ContainsAny(strings.Join(texts, ""), "\n\x00")
	default:
		s, ok := textOf(raw)
		return adapter.TextValue(s), ok
	}
}

// textOf decodes a JSON string, or a whole number as its digits: some flags of the demo
// store are stored as texts but written as numbers.
func textOf(raw jsontext.Value) (text string, ok bool) {
	if raw.Kind() == '0' {
		i, err := strconv.ParseInt(string(raw), 10, 64)
		return strconv.FormatInt(i, 10), err == nil
	}
	err := json.Unmarshal(raw, &text)
	return text, err == nil && !strings.ContainsRune(text, 0)
}
