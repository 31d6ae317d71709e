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
	a, b := neutral(legacy.Body, d.options.Bases[0]), neutral(candidate.Body, d.options.Bases[1])
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
		d.add(Difference{Field: "body", Legacy: readable(format, a, errA), Candidate: readable(format, b, errB)})
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

// readable says whether a body could be read. Whose body cannot is told its length
// alone: who knows what is in it.
func readable(format contract.Format, body []byte, err error) *string {
	if err == nil {
		return new(format.String())
	}
	return new(fmt.Sprintf("%d bytes that are no %s", len(body), format))
}

// texts adds the difference of two bodies at the first byte that differs.
func (d *differ) texts(field string, route *contract.Route, a, b []byte) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	d.add(Difference{field, "", personal(route), around(a, at), around(b, at)})
}

// around tells what stands at a place of a body.
func around(body []byte, at int) *string {
	const before, behind = 16, 48
	if len(body) == 0 {
		return nil
	}
	return new(fmt.Sprintf("byte %d: %q", at, body[max(0, at-before):min(len(body), at+behind)]))
}

// rootName returns the name of the root element of a document that was decoded.
func rootName(body []byte) string {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	// The name is compared, not read.
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

// canonical reports whether a body is the one rendering that the contract has of its
// tree. Where the options let values differ it is all that can be said about the rest.
func canonical(format contract.Format, root string, tree *codec.Node, body []byte) bool {
	return bytes.Equal(codec.Append(nil, format, root, tree, false), body) ||
		format == contract.XML && bytes.Equal(codec.Append(nil, format, root, tree, true), body)
}

// The words that stand for what differs between sides or calls. They need an escape
// in no format.
const (
	baseWord = "BASE_URL"
	keyWord  = "FORM_KEY"
)

var (
	// formKey matches the random key in buy_now_url.
	formKey = regexp.MustCompile(`(form_key(?:/|\\/|%2[Ff]))[A-Za-z0-9]{16}\b`)
	// wayBack matches the URL in buy_now_url that leads back, which is that of the
	// request in base64.
	wayBack = regexp.MustCompile(`(uenc(?:/|\\/|%2[Ff]))([A-Za-z0-9_-]+)(?:,|%2[Cc]){0,2}`)
)

// neutral returns a text of an answer without what is a side's or a call's own.
func neutral(text []byte, base string) []byte {
	text = formKey.ReplaceAll(text, []byte("${1}"+keyWord))
	text = wayBack.ReplaceAllFunc(text, func(found []byte) []byte {
		m := wayBack.FindSubmatch(found)
		way, err := base64.RawURLEncoding.DecodeString(string(m[2]))
		if replaced := contract.ReplaceBase(way, base, baseWord); err == nil && !bytes.Equal(replaced, way) {
			return base64.RawURLEncoding.AppendEncode(m[1], replaced)
		}
		return found
	})
	return contract.ReplaceBase(text, base, baseWord)
}
