package adaptertest

import (
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strconv"
	"testing"
)

// testMarks reads full page by page in the order of q, each page starting after the last
// record of the one before, and starts lists after other marks. operands are values that
// records may have, or that lie between the values of records.
func (s *suite) testMarks(t *testing.T, full []adapter.Record, q *adapter.Query, operands []string) {
	t.Helper()
	tenth := int64(max(1, len(full)/10)) // bounds the number of pages of long lists
	for _, limit := range []int64{tenth, tenth + 2} {
		if q.OrderBy != "" && !s.sampleNext() {
			continue
		}
		s.walk(t, full, q, limit)
	}
	last := s.key(full[len(full)-1])
	keys := []adapter.Key{0, last / 2, last + 1}
	values := []adapter.Value{{}, adapter.NullValue()}
	if at, ok := s.schema.Index(q.OrderBy); ok && len(operands) > 0 {
		values = append(values, full[0].Values[at], full[len(full)/2].Values[at])
		// Marks of no record, among them one beyond the range of the column.
		for _, operand := range []string{operands[0], operands[len(operands)/2], operands[len(operands)-1]} {
			values = append(values, valueOf(s.schema.Attributes[at].Kind, operand))
		}
	}
	for _, value := range values {
		for _, key := range keys {
			if q.OrderBy != "" && !s.sampleNext() {
				continue
			}
			after := *q
			after.After = &adapter.Cursor{Value: value, Key: key}
			s.compare(t, full, &after)
			after.Offset, after.Limit = 1, 2
			s.compare(t, full, &after)
		}
	}
}

// walk reads the list page by page, and each page again from its middle, by an offset
// after the mark.
func (s *suite) walk(t *testing.T, full []adapter.Record, q *adapter.Query, limit int64) {
	t.Helper()
	want, _, err := adapter.Apply(t.Context(), s.schema, full, q)
	if err != nil {
		t.Fatal(err)
	}
	page := *q
	page.Limit = limit
	var walked []adapter.Record
	for len(walked) <= len(want) {
		records := s.list(t, &page)
		if len(records) == 0 {
			break
		}
		walked = append(walked, records...)
		skipping := page
		skipping.Offset = limit - 1
		s.compare(t, full, &skipping)
		end := records[len(records)-1]
		page.After = &adapter.Cursor{Value: end.Get(q.OrderBy), Key: s.key(end)}
	}
	if !slices.EqualFunc(walked, want, sameRecord) {
		t.Errorf("%s: walked over %v, want %v", formatQuery(&page), s.keys(walked), s.keys(want))
	}
}

// testMaxBytes reads the whole list with a limit of bytes, so that the store ends pages
// early. Every such page must have a record, so that the reader makes progress.
func (s *suite) testMaxBytes(t *testing.T, full []adapter.Record) {
	t.Helper()
	for _, q := range []adapter.Query{{}, {Limit: 3}, {Offset: 1, Limit: 2}} {
		for _, maxBytes := range []int64{1, full[0].Size() + 1, 1 << 40} {
			want, _, err := adapter.Apply(t.Context(), s.schema, full, &q)
			if err != nil {
				t.Fatal(err)
			}
			var read []adapter.Record
			next := q
			for more := true; more && len(read) <= len(want); {
				result := MustList(t, s.store, adapter.ListParams{Query: next, MaxBytes: maxBytes})
				n := len(result.Records)
				if result.Partial || result.More && n == 0 {
					t.Fatalf("%s, at most %d bytes: %d records, partial: %t, more: %t", formatQuery(&next), maxBytes, n, result.Partial, result.More)
				}
				read = append(read, result.Records...)
				if more = result.More; more {
					next.After, next.Offset = &adapter.Cursor{Key: s.key(result.Records[n-1])}, 0
					if q.Limit > 0 {
						next.Limit = q.Limit - int64(len(read))
					}
				}
			}
			if !slices.EqualFunc(read, want, sameRecord) {
				t.Errorf("%s, at most %d bytes a piece: read %v, want %v", formatQuery(&q), maxBytes, s.keys(read), s.keys(want))
			}
		}
	}
}

// valueOf parses a value of the kind. An integer out of range becomes the nearest one.
func valueOf(kind adapter.Kind, text string) adapter.Value {
	if kind != adapter.KindInteger {
		return adapter.TextValue(text)
	}
	i, _ := strconv.ParseInt(text, 10, 64)
	return adapter.IntegerValue(i)
}
