package mapping

import (
	"bytes"
	"net/http"
	"slices"
	"testing"
)

// FuzzLegacyReply checks that a cached legacy reply decodes to the encoded reply, and that
// other values are rejected.
func FuzzLegacyReply(f *testing.F) {
	reply := LegacyReply{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/xml"}, "X-Twice": {"1", "2"}, "Date": nil}, Body: []byte("<a/>")}
	whole, err := encodeLegacyReply(&reply)
	if err != nil {
		f.Fatal(err)
	}
	got, ok := decodeLegacyReply(whole)
	if !ok || got.Status != reply.Status || !bytes.Equal(got.Body, reply.Body) || len(got.Header["Date"]) != 0 || !slices.Equal(got.Header["X-Twice"], reply.Header["X-Twice"]) {
		f.Fatalf("%+v %t", got, ok)
	}
	f.Add(whole)
	f.Add([]byte(nil))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01{}"))
	f.Add([]byte("\x0e{\"Status\":999}"))
	f.Fuzz(func(t *testing.T, value []byte) {
		r, ok := decodeLegacyReply(value)
		if !ok {
			return
		}
		if r.Status != http.StatusOK && r.Status != http.StatusNotFound || !bytes.HasSuffix(value, r.Body) {
			t.Fatalf("%+v", r)
		}
		again, err := encodeLegacyReply(&r)
		if err != nil {
			t.Fatal(err)
		}
		if second, ok := decodeLegacyReply(again); !ok || second.Status != r.Status || !bytes.Equal(second.Body, r.Body) || len(second.Header) > len(r.Header) {
			t.Errorf("%+v, then %+v", r, second)
		}
	})
}
