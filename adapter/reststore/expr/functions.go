package expr

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/itchyny/gojq"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// Functions returns the options of a compiler that make the functions known to programs.
func Functions() []gojq.CompilerOption {
	return []gojq.CompilerOption{
		gojq.WithFunction("number", 0, 1, orNull(toNumber)),
		gojq.WithFunction("decimal", 0, 1, orNull(toDecimal)),
		gojq.WithFunction("rfc3339", 0, 0, orNull(toRFC3339)),
		gojq.WithFunction("slug", 0, 0, orNull(toSlug)),
		gojq.WithFunction("sha256", 0, 0, orNull(toSHA256)),
		gojq.WithFunction("_segment", 0, 0, toSegment),
	}
}

// orNull returns a function that returns null for null.
func orNull(f func(v any, arguments []any) any) func(any, []any) any {
	return func(v any, arguments []any) any {
		if v == nil {
			return nil
		}
		return f(v, arguments)
	}
}

// toNumber converts a decimal string to a number without loss. With an argument n it
// returns the amount in units of 10 to the power of -n: "19.99" | number(2) is 1999.
func toNumber(v any, arguments []any) any {
	units, err := unitPlaces(arguments)
	if err != nil {
		return err
	}
	n, err := parseNumber(v)
	if err != nil {
		return fmt.Errorf("number: the input %w", err)
	}
	if len(arguments) > 0 {
		return n.Shift(int32(units)).Round(0).BigInt()
	}
	return json.Number(n.String())
}

// toDecimal converts a number to a string with four decimal places. With an argument n the
// number is in units of 10 to the power of -n: 1999 | decimal(2) is "19.9900". It returns anything else
// unchanged, so that the conversion to a value leaves that one value out, and not the whole record.
func toDecimal(v any, arguments []any) any {
	units, err := unitPlaces(arguments)
	if err != nil {
		return err
	}
	text, err := Decimal(v, units)
	if err != nil {
		return v
	}
	return text
}

func unitPlaces(arguments []any) (int, error) {
	if len(arguments) == 0 {
		return 0, nil
	}
	n, err := Integer(arguments[0])
	if err != nil || n < 0 || n > 18 {
		return 0, errors.New("the number of places must be 0 to 18")
	}
	return int(n), nil
}

// toRFC3339 converts a time of the contract to RFC 3339.
func toRFC3339(v any, _ []any) any {
	text, _ := v.(string)
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		return errors.New(`rfc3339: the input is not a time such as "2006-01-02 15:04:05"`)
	}
	return t.Format(time.RFC3339)
}

// toSlug converts a string to lower-case ASCII letters and digits separated by single
// hyphens. It removes diacritics.
func toSlug(v any, _ []any) any {
	text, ok := v.(string)
	if !ok {
		return errors.New("slug: the input is not a string")
	}
	plain := transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)), runes.Map(unicode.ToLower))
	text, _, _ = transform.String(plain, text)
	return strings.Trim(slugGap.ReplaceAllString(text, "-"), "-")
}

// toSHA256 converts a string to the SHA-256 digest of its bytes, in lower-case hexadecimal.
func toSHA256(v any, _ []any) any {
	text, ok := v.(string)
	if !ok {
		return errors.New("sha256: the input is not a string")
	}
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

var slugGap = regexp.MustCompile(`[^a-z0-9]+`)

// ErrSegment is the error of a path segment that would change the path.
var ErrSegment = errors.New("a path segment is empty, a dot segment, or not a string")

// toSegment escapes a string or a number for a path, so that it cannot add segments. It escapes "+"
// as well, which some servers read as a blank.
func toSegment(v any, _ []any) any {
	text, ok := Text(v)
	if !ok || text == "" {
		return ErrSegment
	}
	return strings.ReplaceAll(url.PathEscape(text), "+", "%2B")
}
