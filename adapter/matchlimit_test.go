package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// textQuery returns records with one text each, and a query for the records that match
// pattern.
func textQuery(op Op, pattern string, texts ...string) (*Schema, []Record, *Query) {
	schema := NewSchema("texts", "id", []Attribute{{Name: "id", Kind: KindInteger}, {Name: "text", Kind: KindText}})
	var records []Record
	for i, text := range texts {
		r := NewRecord(schema)
		r.Set("id", IntegerValue(int64(i+1)))
		r.Set("text", TextValue(text))
		records = append(records, r)
	}
	return schema, records, &Query{Where: []Condition{{Any: []Test{{"text", op, []string{pattern}}}}}}
}

// TestMatchBytes checks that the limit counts all texts matched with patterns, and no others.
func TestMatchBytes(t *testing.T) {
	ten := strings.Repeat("a", 10)
	for _, tt := range []struct {
		op      Op
		pattern string
		limit   int64
		refused bool
	}{
		{Matches, "b", 30, false}, {Matches, "b", 29, true}, {Matches, "b", 0, false},
		{Like, "%b%", 30, false}, {Like, "%b%", 29, true},
		{NotLike, "%b%", 29, true},
		{InCommaList, "b", 30, false}, {InCommaList, "b", 29, true},
		{Eq, "b", 1, false}, {In, "b", 1, false}, {IsNotNull, "", 1, false},
	} {
		t.Run(fmt.Sprintf("%d with %d", tt.op, tt.limit), func(t *testing.T) {
			schema, records, q := textQuery(tt.op, tt.pattern, ten, ten, ten)
			q.MatchBytes = tt.limit
			page, _, err := Apply(t.Context(), schema, records, q)
			if tt.refused != errors.Is(err, ErrMatchLimit) || tt.refused && (KindOf(err) != Unavailable || page != nil) || !tt.refused && err != nil {
				t.Errorf("%d records, error %v", len(page), err)
			}
		})
	}
}

// A countdownContext is canceled after a number of checks.
type countdownContext struct {
	context.Context
	checks, limit int
}

func (c *countdownContext) Err() error {
	if c.checks++; c.checks > c.limit {
		return context.Canceled
	}
	return nil
}

// TestMatchStopsWithContext checks that matching many texts, or one long text, stops when
// the context is canceled.
func TestMatchStopsWithContext(t *testing.T) {
	const slow = "(.*)*.*.*.*z"
	for name, all := range map[string][]string{
		"many texts":  strings.Split(strings.Repeat("short,", 1000), ","),
		"a long text": {strings.Repeat("a text of some length ", 100_000)},
	} {
		t.Run(name, func(t *testing.T) {
			schema, records, q := textQuery(Matches, slow, all...)
			ctx := &countdownContext{Context: t.Context(), limit: 5}
			page, _, err := Apply(ctx, schema, records, q)
			if page != nil || !errors.Is(err, context.Canceled) || ctx.checks != ctx.limit+1 {
				t.Errorf("%d records, error %v, checked %d times", len(page), err, ctx.checks)
			}
		})
	}
}

// TestLongTexts checks that long texts, which are read in steps, match like short ones.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("Weiß\xff é\n", longTextBytes)
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{`\AWEIß`, long, true}, {`\Aeiß`, long, false}, {`é\n\z`, long, true}, {`(?m)^weiß.*é$`, long, true}, {`^weiß.*é$`, long, false},
		{`\bend\b`, long + "the end.", true}, {`\bend\b`, long + "trend.", false}, {`\x{FFFD}`, long, true}, {`z`, long, false}, {``, long, true},
	} {
		schema, records, q := textQuery(Matches, tt.pattern, tt.text)
		page, _, err := Apply(t.Context(), schema, records, q)
		if err != nil || (len(page) == 1) != tt.want {
			t.Errorf("%s: %d records, %v; want one: %v", tt.pattern, len(page), err, tt.want)
		}
	}
}
