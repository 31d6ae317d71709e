package demo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/adapter"
)

// decodeRecord decodes o by its schema.
func (d *decoder) decodeRecord(schema *adapter.Schema, pointer jsontext.Pointer, o object) adapter.Record {
	r := adapter.NewRecord(schema)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		pointer := pointer.AppendToken(name)
		at, known := schema.Index(name)
		if !known || schema.Attributes[at].WriteOnly {
			d.addError(pointer, "unknown")
			continue
		}
		v, err := d.decodeValue(&schema.Attributes[at], pointer, o[name])
		switch {
		case err != nil:
			d.addError(pointer, "%s", err)
		case name == schema.Key && v.Int() < 1 && schema.Resource != adapter.CustomerGroups:
			d.addError(pointer, "must be a number above 0")
		default:
			r.Values[at] = v
		}
	}
	return r
}

// decimalPattern matches the decimals of the contract (contract 2, convention 5).
var decimalPattern = regexp.MustCompile(`^-?[0-9]{1,8}\.[0-9]{4}$`)

// decodeValue decodes the value of an attribute. Its error says what the value must be.
func (d *decoder) decodeValue(a *adapter.Attribute, pointer jsontext.Pointer, raw jsontext.Value) (adapter.Value, error) {
	if raw.Kind() == 'n' {
		return adapter.NullValue(), nil
	}
	switch a.Kind {
	case adapter.KindInteger:
		i, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return adapter.Value{}, errors.New("must be a whole number")
		}
		return adapter.IntegerValue(i), nil
	case adapter.KindDecimal:
		text, err := textOf(raw)
		if err != nil || !decimalPattern.MatchString(text) {
			return adapter.Value{}, errors.New(`must be a text with four decimal places, such as "12.5000"`)
		}
		return adapter.TextValue(text), nil
	case adapter.KindTime:
		text, err := textOf(raw)
		if _, bad := time.Parse(time.DateTime, text); cmp.Or(err, bad) != nil || len(text) != len(time.DateTime) {
			return adapter.Value{}, errors.New(`must be a time, such as "2012-03-01 10:00:00"`)
		}
		return adapter.TextValue(text), nil
	case adapter.KindTexts:
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil || strings.ContainsAny(strings.Join(list, ""), "\n\x00") {
			return adapter.Value{}, errors.New("must be a list of texts without line breaks")
		}
		return adapter.TextsValue(list), nil
	case adapter.KindRecords:
		return d.decodeNested(a.Nested, pointer, raw), nil
	default:
		text, err := textOf(raw)
		if err != nil {
			return adapter.Value{}, errors.New("must be a text")
		}
		return adapter.TextValue(text), nil
	}
}

// textOf decodes a JSON string, or a whole number as its digits: some flags of the demo
// store are stored as texts but written as numbers.
func textOf(raw jsontext.Value) (string, error) {
	if raw.Kind() == '0' {
		i, err := strconv.ParseInt(string(raw), 10, 64)
		return strconv.FormatInt(i, 10), err
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	if strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("contains U+0000")
	}
	return s, nil
}

// decodeNested decodes the nested records that are the value of an attribute.
func (d *decoder) decodeNested(schema *adapter.Schema, pointer jsontext.Pointer, raw jsontext.Value) adapter.Value {
	var records []adapter.Record
	for i, o := range d.decodeObjects(pointer, raw) {
		if o != nil {
			records = append(records, d.decodeRecord(schema, elementPointer(pointer, i), o))
		}
	}
	return adapter.RecordsValue(records)
}
