package expr

import (
	"errors"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Time converts a backend's time to the contract's format: UTC, whole seconds. It
// accepts RFC 3339, "2006-01-02 15:04:05" in UTC, and a date.
func Time(v any) (string, error) {
	text, _ := v.(string)
	for _, form := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			t = t.UTC()
			if t.Year() < 0 || t.Year() > 9999 {
				break
			}
			return t.Format(time.DateTime), nil
		}
	}
	return "", errors.New("is not a time such as 2006-01-02T15:04:05Z")
}

// FromInteger converts an integer to a number type that gojq accepts.
func FromInteger(i int64) any {
	if i < math.MinInt || i > math.MaxInt {
		return float64(i)
	}
	return int(i)
}

// StorableText is Text, and fails for values that are not texts that every database can hold.
func StorableText(v any) (string, error) {
	text, ok := Text(v)
	switch {
	case !ok:
		return "", errors.New("is not a string")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", errors.New("is not valid UTF-8 without zero bytes")
	}
	return text, nil
}
