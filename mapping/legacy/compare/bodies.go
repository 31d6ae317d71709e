package compare

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// bodies adds the differences of the bodies.
func (d *differ) bodies(route *contract.Route, legacy, candidate *Answer) {
	if d.options.Bases[0] == d.options.Bases[1] && bytes.Equal(legacy.Body, candidate.Body) {
		return
	}
	a, b := normalize(legacy.Body, d.options.Bases[0]), normalize(candidate.Body, d.options.Bases[1])
	if bytes.Equal(a, b) {
		return
	}
	format, _, errA := codec.ContentType(legacy.ContentType)
	other, _, errB := codec.ContentType(candidate.ContentType)
	if errA != nil || errB != nil || format != other {
		d.texts("body", route, a, b)
		return
	}
	treeA, errA := codec.Decode(format, a)
	treeB, errB := codec.Decode(format, b)
	switch {
	case errA != nil && errB != nil:
		d.texts("body", route, a, b)
		return
	case errA != nil || errB != nil:
		d.add(Difference{Field: "body", Legacy: describeFormat(format, a, errA), Candidate: describeFormat(format, b, errB)})
		return
	}
	rootA, rootB := "", ""
	if format == contract.XML {
		rootA, rootB = rootName(a), rootName(b)
		if rootA != rootB {
			d.add(Difference{Field: "root", Legacy: new(quote(rootA)), Candidate: new(quote(rootB))})
		}
	}
	d.tolerated = rootA != rootB
	before := len(d.found)
	d.trees(route, &treeA, &treeB)
	if len(d.found) == before && (!d.tolerated || canonical(format, rootA, &treeA, a) != canonical(format, rootB, &treeB, b)) {
		d.texts("rendering", route, a, b)
	}
}

// describeFormat describes whether a body could be parsed. It reports only the length of an
// unreadable body: its content may be sensitive.
func describeFormat(format contract.Format, body []byte, err error) *string {
	if err == nil {
		return new(format.String())
	}
	return new(fmt.Sprintf("%d bytes of invalid %s", len(body), format))
}

// texts adds a difference at the first byte in which two bodies differ.
func (d *differ) texts(field string, route *contract.Route, a, b []byte) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	d.add(Difference{field, "", personal(route), excerpt(a, at), excerpt(b, at)})
}

// excerpt returns an excerpt of a body at an offset.
func excerpt(body []byte, at int) *string {
	const before, behind = 16, 48
	if len(body) == 0 {
		return nil
	}
	return new(fmt.Sprintf("byte %d: %q", at, body[max(0, at-before):min(len(body), at+behind)]))
}

// rootName returns the name of the root element of a parsed document.
func rootName(body []byte) string {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	// The name is only compared, so escapes in it do not matter.
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	for {
		token, err := decoder.RawToken()
		if err != nil {
			return ""
		}
		if start, ok := token.(xml.StartElement); ok {
			return start.Name.Local
		}
	}
}

// canonical reports whether a body is exactly the contract's rendering of its tree. If the
// options tolerate different values, this is the only possible check of the rendering.
func canonical(format contract.Format, root string, tree *codec.Node, body []byte) bool {
	return bytes.Equal(codec.Append(nil, format, root, tree, false), body) ||
		format == contract.XML && bytes.Equal(codec.Append(nil, format, root, tree, true), body)
}

// Placeholders for parts that differ between systems or calls. They have characters that
// need no escape in any format.
const (
	baseWord = "BASE_URL"
	keyWord  = "FORM_KEY"
)

var (
	// formKey matches the random key in buy_now_url.
	formKey = regexp.MustCompile(`(form_key(?:/|\\/|%2[Ff]))[A-Za-z0-9]{16}\b`)
	// returnURL matches the return URL in buy_now_url, which is the URL of the request in
	// base64.
	returnURL = regexp.MustCompile(`(uenc(?:/|\\/|%2[Ff]))([A-Za-z0-9_-]+)(?:,|%2[Cc]){0,2}`)
)

// normalize returns the text of a reply with placeholders for the parts that differ between
// systems or calls.
func normalize(text []byte, base string) []byte {
	if bytes.Contains(text, []byte("form_key")) { // without a match, ReplaceAll would copy the text
		text = formKey.ReplaceAll(text, []byte("${1}"+keyWord))
	}
	if !bytes.Contains(text, []byte("uenc")) {
		return contract.ReplaceBase(text, base, baseWord)
	}
	text = returnURL.ReplaceAllFunc(text, func(found []byte) []byte {
		m := returnURL.FindSubmatch(found)
		way, err := base64.RawURLEncoding.DecodeString(string(m[2]))
		if replaced := contract.ReplaceBase(way, base, baseWord); err == nil && !bytes.Equal(replaced, way) {
			return base64.RawURLEncoding.AppendEncode(m[1], replaced)
		}
		return found
	})
	return contract.ReplaceBase(text, base, baseWord)
}
