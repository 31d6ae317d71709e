package backups

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A sum is a checksum of rows in any order: their SHA-256 sums are added up, as four numbers each.
// It detects loss and damage, but no changes by an attacker.
type sum struct {
	rows  int64
	lanes [4]uint64
}

// add adds a row.
func (s *sum) add(row []byte) {
	s.rows++
	digest := sha256.Sum256(row)
	for i := range s.lanes {
		s.lanes[i] += binary.BigEndian.Uint64(digest[8*i:])
	}
}

// text returns the checksum in hexadecimal.
func (s *sum) text() string {
	var b []byte
	for _, lane := range s.lanes {
		b = binary.BigEndian.AppendUint64(b, lane)
	}
	return hex.EncodeToString(b)
}

// mediaTable and objectColumn: where the bytes of an image are in one store says nothing about
// another one, so the column is empty in archives.
const mediaTable, objectColumn = "media_file", "object"

// selectRows returns a statement that reads a whole table.
func (t *Table) selectRows() string {
	names := t.names()
	for i, name := range names {
		if t.Name == mediaTable && name == objectColumn {
			names[i] = "NULL"
		}
	}
	statement := "SELECT " + strings.Join(names, ", ") + " FROM " + t.Name
	if t.counter != "" {
		statement += " ORDER BY " + t.counter
	}
	return statement
}

// eachRow calls f with each row of a table, as JSON. f must not keep it.
func (t *Table) eachRow(ctx context.Context, query engine.QueryFunc, f func(row []byte) error) error {
	values, pointers := make([]any, len(t.Columns)), make([]any, len(t.Columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	err := engine.EachRow(ctx, query, func(rows engine.Rows) error {
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		for i, value := range values {
			var err error
			if values[i], err = portable(value, t.Columns[i].Kind); err != nil {
				return fmt.Errorf("column %s: %w", t.Columns[i].Name, err)
			}
		}
		row, err := json.Marshal(values)
		if err != nil {
			return err
		}
		return f(row)
	}, t.selectRows())
	if err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	return nil
}

// rawText is a text that is not UTF-8, as JSON has it.
type rawText struct {
	Base64 string `json:"base64"`
}

var errValue = errors.New("the value is of an unexpected type")

// portable converts a value of any type that drivers return to its form in archives.
func portable(value any, kind string) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case time.Time:
		return v.UTC().Format(time.DateTime), nil
	case []byte:
		return portable(string(v), kind)
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case int64:
		if kind == decimal {
			return adapter.FormatDecimal(v * 10_000), nil
		}
		return v, nil
	case float64:
		if kind == decimal {
			return adapter.FormatDecimal(int64(math.Round(v * 10_000))), nil
		}
	case string:
		if kind == integer {
			return strconv.ParseInt(v, 10, 64)
		}
		if !utf8.ValidString(v) {
			return rawText{base64.StdEncoding.EncodeToString([]byte(v))}, nil
		}
		return v, nil
	}
	return nil, fmt.Errorf("%w: %T", errValue, value)
}

// parseRow returns the values of a row of an archive as arguments of a statement.
func (t *Table) parseRow(row []byte) ([]any, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(row, &raw); err != nil {
		return nil, err
	}
	if len(raw) != len(t.Columns) {
		return nil, fmt.Errorf("a row has %d values instead of %d", len(raw), len(t.Columns))
	}
	values := make([]any, len(raw))
	for i, value := range raw {
		var err error
		switch value[0] {
		case 'n':
		case '"':
			var s string
			err = json.Unmarshal(value, &s)
			values[i] = s
		case '{':
			var r rawText
			if err = json.Unmarshal(value, &r); err == nil {
				values[i], err = base64.StdEncoding.DecodeString(r.Base64)
			}
		default:
			values[i], err = strconv.ParseInt(string(value), 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", t.Columns[i].Name, err)
		}
	}
	return values, nil
}
