package codec

import "regexp"

var canonical = regexp.MustCompile(`^(?:[+-]?[1-9][0-9]*|0)$`)

// IsCanonicalNumber reports whether text is an integer in its usual spelling, perhaps with a sign.
// Such a text is always taken for the number of a product, never for a SKU.
func IsCanonicalNumber(text string) bool { return canonical.MatchString(text) }
