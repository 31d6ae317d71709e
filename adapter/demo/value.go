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

// record reads o by schema.
func (d *decoder) record(schema *adapter.Schema, place jsontext.Pointer, o object) adapter.Record {
	r := adapter.NewRecord(schema)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		place := place.AppendToken(name)
		at, known := schema.Index(name)
		if !known || schema.Attributes[at].WriteOnly {
			d.fault(place, "unknown")
			continue
		}
		v, err := d.value(&schema.Attributes[at], place, o[name])
		switch {
		case err != nil:
			d.fault(place, "%s", err)
		case name == schema.Key && v.Int() < 1 && schema.Resource != adapter.CustomerGroups:
			d.fault(place, "want a number above 0")
		default:
			r.Values[at] = v
		}
	}
	return r
}

// decimalForm is what a decimal of the contract looks like (contract 2, convention 5).
var decimalForm = regexp.MustCompile(`^-?[0-9]{1,8}\.[0-9]{4}$`)

// value reads the value of an attribute. An error says what it should be.
func (d *decoder) value(a *adapter.Attribute, place jsontext.Pointer, raw jsontext.Value) (adapter.Value, error) {
	if raw.Kind() == 'n' {
		return adapter.NullValue(), nil
	}
	switch a.Kind {
	case adapter.KindInteger:
		i, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return adapter.Value{}, errors.New("want a whole number")
		}
		return adapter.IntegerValue(i), nil
	case adapter.KindDecimal:
		text, err := text(raw)
		if err != nil || !decimalForm.MatchString(text) {
			return adapter.Value{}, errors.New(`want a text with four places, as "12.5000"`)
		}
		return adapter.TextValue(text), nil
	case adapter.KindTime:
		text, err := text(raw)
		if _, bad := time.Parse(time.DateTime, text); cmp.Or(err, bad) != nil || len(text) != len(time.DateTime) {
			return adapter.Value{}, errors.New(`want a time, as "2012-03-01 10:00:00"`)
		}
		return adapter.TextValue(text), nil
	case adapter.KindTexts:
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil || strings.ContainsAny(strings.Join(list, ""), "\n\x00") {
			return adapter.Value{}, errors.New("want a list of texts without line breaks")
		}
		return adapter.TextsValue(list), nil
	case adapter.KindRecords:
		return d.nested(a.Nested, place, raw), nil
	default:
		text, err := text(raw)
		if err != nil {
			return adapter.Value{}, errors.New("want a text")
		}
		return adapter.TextValue(text), nil
	}
}

// text reads a JSON text, or a whole number as its digits: some flags of the
// demo store are kept as texts and written as numbers.
func text(raw jsontext.Value) (string, error) {
	if raw.Kind() == '0' {
		i, err := strconv.ParseInt(string(raw), 10, 64)
		return strconv.FormatInt(i, 10), err
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	if strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("holds U+0000")
	}
	return s, nil
}

// nested reads a list of records that are the value of an attribute.
func (d *decoder) nested(schema *adapter.Schema, place jsontext.Pointer, raw jsontext.Value) adapter.Value {
	var records []adapter.Record
	for i, o := range d.objects(place, raw) {
		if o != nil {
			records = append(records, d.record(schema, entry(place, i), o))
		}
	}
	return adapter.RecordsValue(records)
}
