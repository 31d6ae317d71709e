package handlers

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// checkLayout checks a custom_layout_update (products 5.5). It must be the content of one
// XML element, and must neither include a template outside the theme's folder nor call a
// helper.
func (w *write) checkLayout(text string) error {
	const begin, end = "<layout>", "</layout>"
	document := begin + text + end
	// The codec checks that the document is well-formed and limits its size.
	if _, err := codec.Decode(contract.XML, []byte(document)); err != nil {
		return w.Dialect.Fault(contract.LayoutNotXML)
	}
	var open []string
	helper := false
	for d := xml.NewDecoder(strings.NewReader(document)); ; {
		token, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && helper:
			return w.Dialect.Fault(contract.LayoutHelper)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return w.Dialect.Fault(contract.LayoutNotXML)
		}
		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range token.Attr {
				if a.Name.Local == "template" && escapesFolder(a.Value) {
					return w.Dialect.Fault(contract.LayoutTemplate)
				}
				helper = helper || a.Name.Local == "helper" && len(open) > 0 && open[len(open)-1] == "action"
			}
			open = append(open, token.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && open[len(open)-1] == "template" && escapesFolder(string(token)) {
				return w.Dialect.Fault(contract.LayoutTemplate)
			}
		}
	}
}

// escapesFolder reports whether path leads out of its folder.
func escapesFolder(path string) bool { return strings.Contains(path, "../") }
