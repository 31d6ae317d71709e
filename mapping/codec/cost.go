package codec

import (
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// valueCost is the memory that one value takes while it is decoded and afterwards, in
// bytes: its member, twice where a list grows, and its place in an index.
const valueCost = 192

// A decodingCost says what decoding takes in one format.
type decodingCost struct {
	// separators are the characters of which each value has one at least.
	separators string
	// copies is how often the text of a body stands in memory besides as it was sent.
	copies int64
}

func costOf(f contract.Format) decodingCost {
	switch f {
	case contract.XML:
		return decodingCost{"<=;", 3} // elements, attributes, entities; as UTF-8, being collected, in the values
	case contract.JSON:
		return decodingCost{",[{", 1} // in the values
	default:
		return decodingCost{"&[", 2} // pairs, and steps of their names; as a string, in the values
	}
}

// Cost returns how much memory decoding a body, or a query string as Text, takes at most,
// in bytes, with what it is decoded to and without body itself. It decodes nothing, so
// it costs little.
func Cost[T []byte | string](f contract.Format, body T) int64 {
	cost := costOf(f)
	values := 1
	for i := range len(body) {
		if strings.IndexByte(cost.separators, body[i]) >= 0 {
			values++
		}
	}
	return int64(len(body))*cost.copies + int64(min(values, maxValues))*valueCost
}
