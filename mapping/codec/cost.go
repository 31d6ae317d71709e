package codec

import (
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// valueCost is the memory in bytes that one value takes during and after decoding: its
// member, twice while a list grows, and its entry in an index.
const valueCost = 192

// A decodingCost describes the memory that decoding a format takes.
type decodingCost struct {
	// separators are characters of which each value has at least one.
	separators string
	// copies is the number of copies of the text that exist in addition to the body.
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

// Cost returns an upper bound in bytes of the memory that decoding a body takes, including the
// result but not the body itself. A query string has the format Text. Cost does not decode the
// body, so it is cheap.
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
