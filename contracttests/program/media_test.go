package program

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
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
	p := apptest.Start(t, []string{"PORTICO_DIALECT=" + dialect}, "--demo")
	admin := apptest.DemoAdmin()
	send := func(method, url, authorization, body string) apptest.Reply {
		t.Helper()
		return apptest.Send(t, method, url, body, "Accept", "application/json", "Content-Type", "application/json", "Authorization", authorization)
	}
	field := func(path, name string) string {
		t.Helper()
		fields := map[string]any{}
		apptest.Parse(t, send(http.MethodGet, p.Contract+path, "", "").Body, &fields)
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
	if r := send(http.MethodGet, field(product, "image_url"), "", ""); r.Status != http.StatusOK || r.Header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("a product without an image shows %d (%s)", r.Status, r.Header.Get("Content-Type"))
	}
	// The image is uploaded with a wrong media type, and must be served with the right one.
	body := `{"file_mime_type":"image/jpeg","file_content":"` + base64.StdEncoding.EncodeToString(content.Bytes()) + `","types":["image"]}`
	created := send(http.MethodPost, p.Contract+product+"/images", admin, body)
	at := created.Header.Get("Location")
	if created.Status != http.StatusOK || at != product+"/images/1" {
		t.Fatalf("%d, location %q", created.Status, at)
	}
	url := field(at, "url")
	for _, url := range []string{url, field(product, "image_url")} {
		r := send(http.MethodGet, url, "", "")
		if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "image/png" || r.Body != content.String() {
			t.Errorf("%s: %d %s, %d bytes of %d", url, r.Status, r.Header.Get("Content-Type"), len(r.Body), content.Len())
		}
	}

	// The file remains after the image is deleted, and a reset of the demo store removes it.
	if r := send(http.MethodDelete, p.Contract+at, admin, ""); r.Status != http.StatusOK {
		t.Errorf("deleting: %d", r.Status)
	}
	if r := send(http.MethodGet, url, "", ""); r.Status != http.StatusOK {
		t.Errorf("the file of a deleted image: %d", r.Status)
	}
	if got := apptest.Send(t, http.MethodPost, p.Ops+"/demo/reset", ""); got.Status != http.StatusOK {
		t.Fatalf("the reset: %d %s", got.Status, got.Body)
	}
	if r := send(http.MethodGet, url, "", ""); r.Status != http.StatusNotFound {
		t.Errorf("the file after a reset: %d", r.Status)
	}
	if r := send(http.MethodPost, p.Contract+product+"/images", admin, body); r.Header.Get("Location") != at || field(at, "url") != url {
		t.Errorf("the first image after a reset: %d %s at %s", r.Status, r.Header.Get("Location"), field(at, "url"))
	}
}
