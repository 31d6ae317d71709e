package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"image/jpeg"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/httpapi"
)

// onePixel is a GIF, in base64.
const onePixel = "R0lGODdhAQABAIAAAPwCBAAAACwAAAAAAQABAAACAkQBADs="

// addImage stores onePixel as i/m/image.png and returns its bytes.
func (s *served) addImage(t *testing.T) string {
	t.Helper()
	const body = `{"file_mime_type":"image/png","file_content":"` + onePixel + `"}`
	c := s.dial(t)
	c.send("POST /api/rest/products/1/images HTTP/1.1", "Host: x", admin, "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(body)))
	c.write(body)
	if got := c.receive("POST"); got.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", got.StatusCode, got.body)
	}
	content, err := base64.StdEncoding.DecodeString(onePixel)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestMediaFolders checks that images are served in each folder in which replies show them
// (configurations 2.1).
func TestMediaFolders(t *testing.T) {
	s := serveUpstream(t, httpapi.Options{MediaFolders: []string{"/media", "/files/shop"}}, unchanged)
	content := s.addImage(t)
	for target, served := range map[string]bool{
		imageURL: true, "/files/shop/catalog/product/i/m/image.png": true, "/files/shop/catalog/product/cache/1/image/i/m/image.png": true,
		"/files/catalog/product/i/m/image.png": false, "/catalog/product/i/m/image.png": false, "/files/shop/i/m/image.png": false,
		"/files/shop/media/catalog/product/i/m/image.png": false,
	} {
		got := s.call(t, "GET "+target+" HTTP/1.1", "Host: x")
		if (got.StatusCode == http.StatusOK && got.body == content) != served {
			t.Errorf("%s: %d", target, got.StatusCode)
		}
	}
}

const imageURL = "/media/catalog/product/i/m/image.png"

func TestMedia(t *testing.T) {
	s := serve(t)
	content := s.addImage(t)
	for _, file := range []string{"secret.txt", "media/i/m/orphan.png"} {
		if err := os.WriteFile(filepath.Join(s.folder, filepath.FromSlash(file)), []byte("hush"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, request string
		served        bool
	}{
		{"an image", "GET " + imageURL, true},
		{"a query is ignored", "GET " + imageURL + "?v=../../secret.txt", true},
		{"as products show it", "GET /media/catalog/product/cache/1/image/i/m/image.png", true},
		{"a letter encoded", "GET /media/catalog/product/i/m/%69mage.png", true},
		{"an absolute target", "GET http://x" + imageURL, true},

		{"another method", "POST " + imageURL, false},
		{"to be deleted", "DELETE " + imageURL, false},
		{"an unknown file", "GET /media/catalog/product/i/m/image_1.png", false},
		{"a file that no image has", "GET /media/catalog/product/i/m/orphan.png", false},
		{"the folder", "GET /media/catalog/product/", false},
		{"the folder without a slash", "GET /media/catalog/product", false},
		{"a folder inside", "GET /media/catalog/product/i/m/", false},
		{"a folder inside without a slash", "GET /media/catalog/product/i/m", false},
		{"a slash behind it", "GET " + imageURL + "/", false},
		{"another case", "GET /media/catalog/product/I/m/image.png", false},
		{"above", "GET /media/catalog/product/../../secret.txt", false},
		{"above and back", "GET /media/catalog/product/i/../i/m/image.png", false},
		{"above, dots encoded", "GET /media/catalog/product/%2e%2e/secret.txt", false},
		{"above, all encoded", "GET /media/catalog/product/%2e%2e%2fsecret.txt", false},
		{"above, encoded twice", "GET /media/catalog/product/%252e%252e%252fsecret.txt", false},
		{"above by backslashes", `GET /media/catalog/product/..\secret.txt`, false},
		{"above by overlong dots", "GET /media/catalog/product/%c0%ae%c0%ae/secret.txt", false},
		{"above behind the cache", "GET /media/catalog/product/cache/1/image/../../../../secret.txt", false},
		{"the cache twice", "GET /media/catalog/product/cache/1/image/cache/1/image/i/m/image.png", false},
		{"from the root", "GET /media/catalog/product//etc/passwd", false},
		{"a dot folder", "GET /media/catalog/product/./i/m/image.png", false},
		{"doubled slash", "GET /media/catalog/product/i//m/image.png", false},
		{"doubled slash in front", "GET //media/catalog/product/i/m/image.png", false},
		{"a zero byte", "GET " + imageURL + "%00", false},
		{"a zero byte and an extension", "GET /media/catalog/product/i/m/image.png%00.png", false},
		{"a blank behind it", "GET " + imageURL + "%20", false},
		{"a line break behind it", "GET " + imageURL + "%0A", false},
		{"a colon stream", "GET " + imageURL + "::$DATA", false},
		{"no UTF-8", "GET /media/catalog/product/i/m/%ff.png", false},
		{"a name of 64 KiB", "GET /media/catalog/product/i/m/" + strings.Repeat("a", 64<<10), false},
		{"the database", "GET /media/catalog/product/../demo.db", false},
		{"beside the folder", "GET /media/catalog/", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.call(t, tt.request+" HTTP/1.1", "Host: x")
			status := http.StatusNotFound
			if tt.served {
				status = http.StatusOK
			}
			if got.StatusCode != status || (got.body == content) != tt.served || strings.Contains(got.body, "hush") {
				t.Errorf("%d %q", got.StatusCode, got.body)
			}
		})
	}
	if strings.Contains(s.log.String(), "ERROR") {
		t.Errorf("logged: %s", s.log.String())
	}
}

// TestMediaHeaders: the media type follows from the content, whatever was declared; images may
// be cached, errors may not.
func TestMediaHeaders(t *testing.T) {
	s := serve(t)
	content := s.addImage(t)
	whole := s.call(t, "GET "+imageURL+" HTTP/1.1", "Host: x")
	tag, changed := whole.Header.Get("ETag"), whole.Header.Get("Last-Modified")
	if tag == "" || changed == "" {
		t.Fatalf("no tag or time: %v", whole.Header)
	}
	for _, tt := range []struct {
		name     string
		lines    []string
		status   int
		body     string
		declared string
		kept     bool
	}{
		{"all of it", []string{"GET " + imageURL}, 200, content, "image/gif", true},
		{"headers alone", []string{"HEAD " + imageURL}, 200, "", "image/gif", true},
		{"a part", []string{"GET " + imageURL, "Range: bytes=0-5"}, 206, "GIF87a", "image/gif", true},
		{"no part there is", []string{"GET " + imageURL, "Range: bytes=900-"}, 416, "invalid range: failed to overlap\n", "text/plain; charset=utf-8", false},
		{"known by its tag", []string{"GET " + imageURL, "If-None-Match: " + tag}, 304, "", "", true},
		{"known by its time", []string{"GET " + imageURL, "If-Modified-Since: " + changed}, 304, "", "", true},
		{"another tag", []string{"GET " + imageURL, `If-None-Match: "x"`}, 200, content, "image/gif", true},
		{"not there", []string{"GET " + imageURL + "x"}, 404, "Not found\n", "text/plain; charset=utf-8", false},
		{"headers of what is not there", []string{"HEAD " + imageURL + "x"}, 404, "", "text/plain; charset=utf-8", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.lines[0] += " HTTP/1.1"
			got := s.call(t, append(tt.lines, "Host: x")...)
			if got.StatusCode != tt.status || got.body != tt.body || got.Header.Get("Content-Type") != tt.declared {
				t.Errorf("%d %s %q", got.StatusCode, got.Header.Get("Content-Type"), got.body)
			}
			if got.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Error("a client may guess what it is")
			}
			if got.Header.Get("X-Request-Id") == "" {
				t.Error("the reply has no id")
			}
			if public := strings.HasPrefix(got.Header.Get("Cache-Control"), "public"); public != tt.kept {
				t.Errorf("Cache-Control is %q", got.Header.Get("Cache-Control"))
			}
		})
	}
	lines := s.lines(t)
	if line := lines[1]; line["call"] != "media" || line["status"] != 200.0 || line["bytes"] != float64(len(content)) {
		t.Errorf("the log line of an image is %v", line)
	}
}

// TestLostMedia: a missing file is a 404, and an unreadable file a server error.
func TestLostMedia(t *testing.T) {
	s := serve(t)
	s.addImage(t)
	path := filepath.Join(s.folder, "media", "i", "m", "image.png")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := s.call(t, "GET "+imageURL+" HTTP/1.1", "Host: x"); got.StatusCode != http.StatusNotFound {
		t.Errorf("lost: %d", got.StatusCode)
	}
	if err := os.Symlink(path, path); err != nil {
		t.Fatal(err)
	}
	got := s.call(t, "GET "+imageURL+" HTTP/1.1", "Host: x")
	if got.StatusCode != http.StatusServiceUnavailable || strings.Contains(got.body, s.folder) {
		t.Errorf("not readable: %d %q", got.StatusCode, got.body)
	}
	if !strings.Contains(s.log.String(), "image not served") {
		t.Errorf("not logged: %s", s.log.String())
	}
}

func TestPlaceholder(t *testing.T) {
	s := serve(t)
	got := s.call(t, "GET /skin/frontend/base/default/images/catalog/product/placeholder/image.jpg HTTP/1.1", "Host: x")
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "image/jpeg" {
		t.Fatalf("%d %s", got.StatusCode, got.Header.Get("Content-Type"))
	}
	if _, err := jpeg.Decode(bytes.NewReader([]byte(got.body))); err != nil {
		t.Error(err)
	}
}
