package contract

// A Format is a representation of records on the wire.
type Format uint8

// The formats of the contract (wire 5).
const (
	JSON Format = iota
	XML
	Text // form-encoded pairs, served as text/plain
)

// Formats returns all formats.
func Formats() []Format { return []Format{JSON, XML, Text} }

// String returns the format's name in lower case, for use as a label.
func (f Format) String() string {
	switch f {
	case XML:
		return "xml"
	case Text:
		return "text"
	default:
		return "json"
	}
}

// ContentType returns the Content-Type header of a reply in f.
func (f Format) ContentType() string {
	switch f {
	case XML:
		return "application/xml; charset=utf-8"
	case Text:
		return "text/plain; charset=utf-8"
	default:
		return "application/json; charset=utf-8"
	}
}
