package engine

import (
	"context"
	"strconv"
	"strings"
)

// insertArrays returns the statement that inserts rows from one array for each column, and these arrays.
// text is "" if a row has a value of another type than int, int64 and string, or if a column cannot be
// found. The statement is the same for any number of rows, so that it is planned once, and PostgreSQL
// does not make an expression of each value: rows cost it three quarters of their time in VALUES.
func (t *Tx) insertArrays(ctx context.Context, table string, columns []string, rows [][]any) (text string, arrays []any, err error) {
	for at := range columns {
		array, ok := arrayOf(rows, at)
		if !ok {
			return "", nil, nil
		}
		arrays = append(arrays, array)
	}
	key := table + "(" + strings.Join(columns, ", ") + ")"
	if known, ok := t.DB.arrayInserts.Load(key); ok {
		return known.(string), arrays, nil
	}
	types := map[string]string{}
	err = EachRow(ctx, t.Query, func(rows Rows) (err error) {
		var name, is string
		err = rows.Scan(&name, &is)
		types[name] = "CAST(? AS " + is + "[])"
		return err
	}, "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0", table)
	if err != nil {
		return "", nil, err
	}
	parameters := make([]string, len(columns))
	for i, name := range columns {
		if parameters[i] = types[strings.ToLower(name)]; parameters[i] == "" {
			t.DB.arrayInserts.Store(key, "")
			return "", nil, nil
		}
	}
	text = "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") SELECT * FROM unnest(" + strings.Join(parameters, ", ") + ")"
	t.DB.arrayInserts.Store(key, text)
	return text, arrays, nil
}

// quoteElement escapes the characters of a text that end or escape an element of an array.
var quoteElement = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// arrayOf returns the values of rows at a column as the text of an array. ok is false if one has another
// type than int, int64 and string.
func arrayOf(rows [][]any, at int) (text string, ok bool) {
	b := []byte{'{'}
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := row[at].(type) {
		case nil:
			b = append(b, "NULL"...)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case string:
			b = append(b, '"')
			b = append(b, quoteElement.Replace(v)...)
			b = append(b, '"')
		default:
			return "", false
		}
	}
	return string(append(b, '}')), true
}
