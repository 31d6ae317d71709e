package reststore

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/portico-commerce/portico/adapter"
)

// The functions that expressions can call in addition to jq's own.

// orNull returns a function that returns null for null.
func orNull(f func(v any, arguments []any) any) func(any, []any) any {
	return func(v any, arguments []any) any {
		if v == nil {
			return nil
		}
		return f(v, arguments)
	}
}

// jqNumber converts a decimal string to a number without loss. With an argument n it
// returns the amount in units of 10 to the power of -n: "19.99" | number(2) is 1999.
func jqNumber(v any, arguments []any) any {
	units, err := unitPlaces(arguments)
	if err != nil {
		return err
	}
	if len(arguments) == 0 {
		units = adapter.ScaledPlaces
	}
	n, err := parseScaled(v, units)
	if err != nil {
		return fmt.Errorf("number: the input %w", err)
	}
	if len(arguments) > 0 {
		return n
	}
	exact := adapter.FormatScaled(n, adapter.ScaledPlaces)
	return json.Number(strings.TrimSuffix(strings.TrimRight(exact, "0"), "."))
}

// jqDecimal converts a number to a string with four decimal places. With an argument n the
// number is in units of 10 to the power of -n: 1999 | decimal(2) is "19.9900".
func jqDecimal(v any, arguments []any) any {
	units, err := unitPlaces(arguments)
	if err != nil {
		return err
	}
	text, err := decimal(v, units)
	if err != nil {
		return fmt.Errorf("decimal: the input %w", err)
	}
	return text
}

func unitPlaces(arguments []any) (int, error) {
	if len(arguments) == 0 {
		return 0, nil
	}
	n, err := parseInteger(arguments[0])
	if err != nil || n < 0 || n > 18 {
		return 0, errors.New("the number of places must be 0 to 18")
	}
	return int(n), nil
}

// jqRFC3339 converts a time of the contract to RFC 3339.
func jqRFC3339(v any, _ []any) any {
	text, _ := v.(string)
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		return errors.New(`rfc3339: the input is not a time such as "2006-01-02 15:04:05"`)
	}
	return t.Format(time.RFC3339)
}

// jqSlug converts a string to lower-case ASCII letters and digits separated by single
// hyphens. It removes diacritics.
func jqSlug(v any, _ []any) any {
	text, ok := v.(string)
	if !ok {
		return errors.New("slug: the input is not a string")
	}
	plain := transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)), runes.Map(unicode.ToLower))
	text, _, _ = transform.String(plain, text)
	return strings.Trim(slugGap.ReplaceAllString(text, "-"), "-")
}

var slugGap = regexp.MustCompile(`[^a-z0-9]+`)

var errSegment = errors.New("a path segment is empty, a dot segment, or not a string")

// jqSegment escapes a string or a number for a path, so that it cannot add segments.
func jqSegment(v any, _ []any) any {
	text, ok := numberText(v)
	if !ok || text == "" {
		return errSegment
	}
	return url.PathEscape(text)
}
