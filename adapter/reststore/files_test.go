package reststore

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// filesMapping is a mapping whose images have files.
const filesMapping = `name: files
connection:
  auth: {bearer: $secret}
  limits: {response_bytes: 4096}
  file_hosts: [%q]
resources:
  products:
    attributes: [name]
    fetch: {path: '/p/{$id}', item: .}
    scan: {path: /p, items: ., pages: {page: page}}
    id: id
    read: '{name}'
    without: {create: no, update: no, delete: no}
  product_images:
    part_of: products
    attributes: [file]
    identified: true
    adopts: true
    items: '[.images[] | {id: ., content_url: .}]'
    without: {create: no, update: no, delete: no}
`

// TestFiles checks that files are only read from the backend and from an allowed host, without
// credentials, and that files that are not images are refused.
func TestFiles(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	handle := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("%s got credentials", r.URL)
		}
		switch {
		case strings.HasSuffix(r.URL.Path, ".png"):
			_, _ = w.Write(picture.Bytes())
		case r.URL.Path == "/cut":
			_, _ = w.Write(picture.Bytes()[:picture.Len()-20])
		case r.URL.Path == "/large":
			_, _ = w.Write(append(picture.Bytes(), make([]byte, 5000)...))
		case r.URL.Path == "/page":
			_, _ = w.Write([]byte("<html><script>"))
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/a.png", http.StatusFound)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	other, third := httptest.NewServer(handle), httptest.NewServer(handle)
	defer other.Close()
	defer third.Close()
	listed := strings.TrimPrefix(other.URL, "http://")
	var answer string
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/p/") {
			respond(w, http.StatusOK, answer)
			return
		}
		handle(w, r)
	}))
	defer own.Close()
	b := openAt(t, fmt.Sprintf(filesMapping, listed), nil, own.URL)
	for _, c := range []struct {
		name, address, file string
		kind                adapter.ErrorKind
	}{
		{"of the backend", own.URL + "/static/Été-01.png?v=2", "_/t/_t_-01.png", 0},
		{"relative", "/static/a.b/kettle.png", "k/e/kettle.png", 0},
		{"short name", "/x.png", "i/m/image.png", 0},
		{"of an allowed host", other.URL + "/kettle.png", "k/e/kettle.png", 0},
		{"of another host", third.URL + "/kettle.png", "", adapter.Invalid},
		{"of another port", "http://127.0.0.1:1/kettle.png", "", adapter.Invalid},
		{"another scheme", "file:///etc/a.png", "", adapter.Invalid},
		{"a user", strings.Replace(own.URL, "http://", "http://a:b@", 1) + "/page", "", adapter.Invalid},
		{"missing", own.URL + "/none", "", adapter.Unavailable},
		{"redirect", own.URL + "/moved", "", adapter.Unavailable},
		{"too large", own.URL + "/large", "", adapter.Invalid},
		{"cut off", own.URL + "/cut", "", adapter.Invalid},
		{"no image", own.URL + "/page", "", adapter.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer = fmt.Sprintf(`{"id": "p1", "name": "n", "images": [%q]}`, c.address)
			found, err := b.Fetch(t.Context(), adapter.Products, []string{"p1"})
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			_, parts, err := found[0].Read(t.Context())
			if err != nil || len(parts[adapter.ProductImages]) != 1 || parts[adapter.ProductImages][0].File == nil {
				t.Fatal(parts, err)
			}
			file, err := parts[adapter.ProductImages][0].File(t.Context())
			if (err == nil) != (c.file != "") || err != nil && adapter.KindOf(err) != c.kind {
				t.Fatalf("%v, want %v", err, c.kind)
			}
			if err == nil && (file.Name != c.file || file.MediaType != "image/png" || !bytes.Equal(file.Content, picture.Bytes()) || !rules.ValidFileName(file.Name)) {
				t.Errorf("%s of type %s with %d bytes", file.Name, file.MediaType, len(file.Content))
			}
		})
	}
}
