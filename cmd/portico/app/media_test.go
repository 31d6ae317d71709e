package app

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestServedImages checks that the image URLs of the demo store serve the images that were
// uploaded.
func TestServedImages(t *testing.T) {
	t.Parallel()
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) { testServedImages(t, d.Name) })
	}
}

// testServedImages runs TestServedImages in one dialect.
func testServedImages(t *testing.T, dialect string) {
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := openDemo(t.Context(), t.TempDir(), data, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	a, server := serveApp(t, db, data, dialect)
	admin := demoTarget(t, dialect).Credentials.Authorization("admin")
	send := func(method, url, authorization, body string) (*http.Response, []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/json")
		r.Header.Set("Content-Type", "application/json")
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, content
	}
	field := func(path, name string) string {
		t.Helper()
		_, body := send(http.MethodGet, server.URL+path, "", "")
		fields := map[string]any{}
		if err := json.Unmarshal(body, &fields); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		text, _ := fields[name].(string)
		return text
	}
	const product = "/api/rest/products/1"

	picture := image.NewGray(image.Rect(0, 0, 3, 2))
	picture.SetGray(1, 1, color.Gray{Y: 200})
	var content bytes.Buffer
	if err := png.Encode(&content, picture); err != nil {
		t.Fatal(err)
	}
	if r, _ := send(http.MethodGet, field(product, "image_url"), "", ""); r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("a product without an image shows %s (%s)", r.Status, r.Header.Get("Content-Type"))
	}
	// The image is uploaded with a wrong media type, and must be served with the right one.
	body := `{"file_mime_type":"image/jpeg","file_content":"` + base64.StdEncoding.EncodeToString(content.Bytes()) + `","types":["image"]}`
	created, _ := send(http.MethodPost, server.URL+product+"/images", admin, body)
	at := created.Header.Get("Location")
	if created.StatusCode != http.StatusOK || at != product+"/images/1" {
		t.Fatalf("%s, location %q", created.Status, at)
	}
	url := field(at, "url")
	for _, url := range []string{url, field(product, "image_url")} {
		r, got := send(http.MethodGet, url, "", "")
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "image/png" || !bytes.Equal(got, content.Bytes()) {
			t.Errorf("%s: %s %s, %d bytes of %d", url, r.Status, r.Header.Get("Content-Type"), len(got), content.Len())
		}
	}

	// The file remains after the image is deleted, and a reset of the demo store removes it.
	if r, _ := send(http.MethodDelete, server.URL+at, admin, ""); r.StatusCode != http.StatusOK {
		t.Errorf("deleting: %s", r.Status)
	}
	if r, _ := send(http.MethodGet, url, "", ""); r.StatusCode != http.StatusOK {
		t.Errorf("the file of a deleted image: %s", r.Status)
	}
	if err := a.ops.reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, _ := send(http.MethodGet, url, "", ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("the file after a reset: %s", r.Status)
	}
	if r, _ := send(http.MethodPost, server.URL+product+"/images", admin, body); r.Header.Get("Location") != at || field(at, "url") != url {
		t.Errorf("the first image after a reset: %s %s at %s", r.Status, r.Header.Get("Location"), field(at, "url"))
	}
}
