package reststore

import (
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"strings"
)

// toRecord converts an object that expression e returned to a record. A reference to a
// record without a legacy id is left absent, and unknown reports whether there was one. A value that does not fit
// its attribute is left out, so that the record comes without it; of a nested record it is an error, because the
// list would be another one without it.
func (r *resource) toRecord(object map[string]any, schema *adapter.Schema, prefix string, e *expression, keys *documentReader) (record adapter.Record, unknown bool, err error) {
	record = adapter.NewRecord(schema)
	for name, v := range object {
		i, ok := schema.Index(name)
		if !ok {
			of, is := strings.CutSuffix(name, refSuffix)
			to, mapped := r.References[prefix+of]
			if i, ok = schema.Index(of); !is || !mapped || !ok {
				return record, false, fmt.Errorf("%.40s is not an attribute of %s", name, r.name)
			}
			if v == nil {
				// A null reference is a null attribute, unless the object has a value for it.
				if _, beside := object[of]; !beside {
					record.Values[i] = adapter.NullValue()
				}
				continue
			}
			key := keys.get(to, backendID(v))
			if key == 0 {
				unknown = true
				continue
			}
			record.Values[i] = adapter.IntegerValue(int64(key))
			continue
		}
		if _, mapped := r.References[prefix+name]; mapped && object[name+refSuffix] != nil {
			continue
		}
		value, err := r.toValue(v, &schema.Attributes[i], prefix, e, keys)
		switch {
		case err == nil:
			record.Values[i] = value
		case prefix != "":
			return record, false, fmt.Errorf("%s %w", name, err)
		default:
			keys.leaveOut(e, r, name, err)
		}
	}
	return record, unknown, nil
}

// toValue converts the result of expression e to a value of attribute a. Decimals are rounded to
// four places.
func (r *resource) toValue(v any, a *adapter.Attribute, prefix string, e *expression, keys *documentReader) (adapter.Value, error) {
	if v == nil {
		return adapter.NullValue(), nil
	}
	switch a.Kind {
	case adapter.KindInteger:
		i, err := expr.Integer(v)
		return adapter.IntegerValue(i), err
	case adapter.KindDecimal:
		d, err := expr.Decimal(v, 0)
		if _, fits := adapter.ParseDecimal(d); err == nil && !fits {
			err = errors.New("is a number that is too great")
		}
		return adapter.TextValue(d), err
	case adapter.KindTime:
		t, err := expr.Time(v)
		if err == nil && !adapter.IsTime(t) {
			err = errors.New("is a time before the year 1")
		}
		return adapter.TextValue(t), err
	case adapter.KindTexts:
		list, err := toTexts(v)
		return adapter.TextsValue(list), err
	case adapter.KindRecords:
		list, err := r.toRecords(v, a, prefix, e, keys)
		return adapter.RecordsValue(list), err
	default:
		t, err := expr.StorableText(v)
		return adapter.TextValue(t), err
	}
}

// toRecords converts a list of objects to nested records. It omits records that refer to a
// record without a legacy id.
func (r *resource) toRecords(v any, a *adapter.Attribute, prefix string, e *expression, keys *documentReader) ([]adapter.Record, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errNotList
	}
	records := make([]adapter.Record, 0, len(list))
	for _, element := range list {
		object, ok := element.(map[string]any)
		if !ok {
			return nil, errors.New("has an element that is not an object")
		}
		record, unknown, err := r.toRecord(object, a.Nested, prefix+a.Name+".", e, keys)
		if err != nil {
			return nil, err
		}
		if !unknown {
			records = append(records, record)
		}
	}
	return records, nil
}

func toTexts(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errNotList
	}
	all := make([]string, len(list))
	for i, element := range list {
		text, err := expr.StorableText(element)
		if err != nil {
			return nil, fmt.Errorf("has an element that %w", err)
		}
		all[i] = text
	}
	return all, nil
}

// fromRecord converts a record to the object that expressions see: decimals and times as
// strings, and the backend's ids next to references, once ids are resolved. Absent attributes
// are omitted. prefix is the path of a nested record, such as "items.", and "" otherwise. An
// empty record is nil.
func (r *resource) fromRecord(record adapter.Record, prefix string, ids *writeIDs) any {
	if len(record.Values) == 0 {
		return nil
	}
	object := make(map[string]any, len(record.Values))
	for i, v := range record.Values {
		a := &record.Schema.Attributes[i]
		to, mapped := r.References[prefix+a.Name]
		switch v.Kind() {
		case adapter.Absent, adapter.Unset:
			continue
		case adapter.Null:
			object[a.Name] = nil
		case adapter.Integer:
			object[a.Name] = expr.FromInteger(v.Int())
		case adapter.Texts:
			object[a.Name] = anys(v.Texts())
		case adapter.Records:
			list := make([]any, len(v.Records()))
			for j, nested := range v.Records() {
				list[j] = r.fromRecord(nested, prefix+a.Name+".", ids)
			}
			object[a.Name] = list
		default:
			object[a.Name] = v.Text()
		}
		if mapped {
			ids.add(object, a.Name, to, adapter.Key(v.Int()))
		}
	}
	return object
}
