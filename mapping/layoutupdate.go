package mapping

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// checkLayout checks a custom_layout_update (products 5.5): the content of one
// element, without templates from elsewhere and without helpers.
func (w *productWrite) checkLayout(text string) error {
	const begin, end = "<layout>", "</layout>"
	document := begin + text + end
	// The codec knows what is well-formed, and bounds it.
	if _, err := codec.Decode(contract.XML, []byte(document)); err != nil {
		return w.dialect.Fault(contract.LayoutNotXML)
	}
	var open []string
	helper := false
	for d := xml.NewDecoder(strings.NewReader(document)); ; {
		token, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && helper:
			return w.dialect.Fault(contract.LayoutHelper)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return w.dialect.Fault(contract.LayoutNotXML)
		}
		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range token.Attr {
				if a.Name.Local == "template" && escapesFolder(a.Value) {
					return w.dialect.Fault(contract.LayoutTemplate)
				}
				helper = helper || a.Name.Local == "helper" && len(open) > 0 && open[len(open)-1] == "action"
			}
			open = append(open, token.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && open[len(open)-1] == "template" && escapesFolder(string(token)) {
				return w.dialect.Fault(contract.LayoutTemplate)
			}
		}
	}
}

// climbs reports whether a path leaves its folder.
func escapesFolder(path string) bool { return strings.Contains(path, "../") }
