package dataset

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An ordered is a JSON object whose members keep their order.
type ordered []field

// A field is a member of a JSON object.
type field struct {
	name  string
	value any
}

// MarshalJSONTo writes the members.
func (o ordered) MarshalJSONTo(out *jsontext.Encoder) error {
	if err := out.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, f := range o {
		if err := out.WriteToken(jsontext.String(f.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(out, f.value); err != nil {
			return err
		}
	}
	return out.WriteToken(jsontext.EndObject)
}
