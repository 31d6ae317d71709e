package demo

import (
	"cmp"
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

func uniqueKeys(schema *adapter.Schema, records []adapter.Record) error {
	seen := map[int64]bool{}
	for _, r := range records {
		key := r.Get(schema.Key)
		if key.Kind() == adapter.Absent {
			continue
		}
		if seen[key.Int()] {
			return fmt.Errorf("%s: %s %d is there twice", schema.Resource, schema.Key, key.Int())
		}
		seen[key.Int()] = true
	}
	return nil
}

// record reads o by schema.
func record(schema *adapter.Schema, place string, o object) (adapter.Record, error) {
	r := adapter.NewRecord(schema)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		at, known := schema.Index(name)
		if !known || schema.Attributes[at].WriteOnly {
			return r, fmt.Errorf("%s.%s: unknown", place, name)
		}
		v, err := value(&schema.Attributes[at], place+"."+name, o[name])
		if err != nil {
			return r, err
		}
		if name == schema.Key && v.Int() < 1 && schema.Resource != adapter.CustomerGroups {
			return r, fmt.Errorf("%s.%s: want a number above 0", place, name)
		}
		r.Values[at] = v
	}
	return r, nil
}

// decimalForm is what a decimal of the contract looks like (Conventions 5).
var decimalForm = regexp.MustCompile(`^-?[0-9]{1,8}\.[0-9]{4}$`)

func value(a *adapter.Attribute, place string, raw jsontext.Value) (adapter.Value, error) {
	if raw.Kind() == 'n' {
		return adapter.NullValue(), nil
	}
	switch a.Kind {
	case adapter.KindInteger:
		i, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return adapter.Value{}, fmt.Errorf("%s: want a whole number", place)
		}
		return adapter.IntegerValue(i), nil
	case adapter.KindDecimal:
		text, err := text(raw)
		if err != nil || !decimalForm.MatchString(text) {
			return adapter.Value{}, fmt.Errorf(`%s: want a text with four places, as "12.5000"`, place)
		}
		return adapter.TextValue(text), nil
	case adapter.KindTime:
		text, err := text(raw)
		if _, bad := time.Parse(time.DateTime, text); cmp.Or(err, bad) != nil || len(text) != len(time.DateTime) {
			return adapter.Value{}, fmt.Errorf(`%s: want a time, as "2012-03-01 10:00:00"`, place)
		}
		return adapter.TextValue(text), nil
	case adapter.KindTexts:
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil || strings.ContainsAny(strings.Join(list, ""), "\n\x00") {
			return adapter.Value{}, fmt.Errorf("%s: want a list of texts without line breaks", place)
		}
		return adapter.TextsValue(list), nil
	case adapter.KindRecords:
		return nested(a.Nested, place, raw)
	default:
		text, err := text(raw)
		if err != nil {
			return adapter.Value{}, fmt.Errorf("%s: want a text", place)
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

func nested(schema *adapter.Schema, place string, raw jsontext.Value) (adapter.Value, error) {
	var list []object
	if err := json.Unmarshal(raw, &list); err != nil {
		return adapter.Value{}, fmt.Errorf("%s: want a list of records", place)
	}
	if err := noNulls(list, place); err != nil {
		return adapter.Value{}, err
	}
	records := make([]adapter.Record, len(list))
	for i, o := range list {
		r, err := record(schema, fmt.Sprintf("%s[%d]", place, i), o)
		if err != nil {
			return adapter.Value{}, err
		}
		records[i] = r
	}
	return adapter.RecordsValue(records), nil
}
