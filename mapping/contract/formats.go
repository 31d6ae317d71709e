package contract

// A Format is a way to write records on the wire.
type Format uint8

const (
	JSON Format = iota
	XML
	Text // form-encoded pairs, served as text/plain
)

// Formats lists every format.
func Formats() []Format { return []Format{JSON, XML, Text} }

// String returns the format's name in lower case, fit for a label.
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

// ContentType returns the header value of a reply in f.
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
