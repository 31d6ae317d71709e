package replycache

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// newTestCache returns a cache that can only decode replies.
func newTestCache() *Guests {
	return &Guests{dialect: contract.Documented(), calls: cachedCalls()}
}

// TestCachedResponse checks that decoding a cached reply returns the encoded response.
func TestCachedResponse(t *testing.T) {
	s := newTestCache()
	key := resource.NewFormKey()
	for _, c := range []struct {
		name, formKey, body string
		status              int
	}{
		{"empty", "", "", http.StatusOK},
		{"a body", "", `{"a":1}`, http.StatusOK},
		{"refused", "", `{"messages":{}}`, http.StatusNotFound},
		{"a form key", key, "x" + key + "y", http.StatusOK},
		{"a form key at the end", key, "x" + key, http.StatusOK},
		{"a form key missing from the body", key, "xy", http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := &resource.Call{Format: contract.Text, FormKey: c.formKey}
			value := Encode(call, 2, &resource.Response{Status: c.status, ContentType: "text/plain; charset=utf-8", Body: []byte(c.body)})
			got, ok := s.Decode(value, "hit", 0, []byte("before"))
			body, _ := strings.CutPrefix(string(got.Body), "before")
			if !ok || got.Status != c.status || got.Call != cachedCalls()[2].name || got.Format != "text" || got.ContentType != "text/plain; charset=utf-8" ||
				len(body) != len(c.body) || (body == c.body) == strings.Contains(c.body, key) || strings.ContainsRune(body, 0) || (got.EntityTag != "") != (c.status == http.StatusOK) {
				t.Errorf("%t %+v", ok, got)
			}
		})
	}
}

// FuzzCachedResponse checks that decoding any cached value neither fails nor modifies it.
func FuzzCachedResponse(f *testing.F) {
	key := resource.NewFormKey()
	for _, formKey := range []string{"", key} {
		f.Add(Encode(&resource.Call{FormKey: formKey}, 1, &resource.Response{Status: http.StatusOK, ContentType: resource.HTMLType, Body: []byte("x" + key)}))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		before := slices.Clone(value)
		got, ok := newTestCache().Decode(value, "hit", 0, nil)
		if !bytes.Equal(value, before) {
			t.Error("decoding changed the cached value")
		}
		if ok && (len(got.Body) != len(value)-cachedHeaderSize || got.Status < 200 || got.Status > 599 || got.Call == "" || got.ContentType == "") {
			t.Errorf("%+v", got)
		}
	})
}
