package resource

import (
	"net/http/httptest"
	"slices"
	"testing"
)

// TestLinks checks the addresses in replies under each setting (configurations 2.1), to requests of
// both schemes.
func TestLinks(t *testing.T) {
	const host, cdn = "http://called.example", "https://cdn.example/m"
	for _, tt := range []struct {
		name                            string
		settings                        LinkSettings
		base, page, media, mediaOnHTTPS string
	}{
		{"no settings", LinkSettings{}, host, host + "/index.php", host + "/media", "https://called.example/media"},
		{"public URL", LinkSettings{PublicURL: "https://shop.example/eu/"},
			"https://shop.example/eu", "https://shop.example/eu/index.php", "https://shop.example/eu/media", "https://shop.example/eu/media"},
		{"code in links", LinkSettings{CodeInLinks: true}, host, host + "/index.php/admin", host + "/media", "https://called.example/media"},
		{"pages elsewhere", LinkSettings{LinkURL: "http://www.example/", CodeInLinks: true}, host, "http://www.example/index.php/admin", host + "/media", "https://called.example/media"},
		{"pages over http", LinkSettings{PublicURL: "https://shop.example", LinkURL: "http://shop.example"},
			"https://shop.example", "http://shop.example/index.php", "https://shop.example/media", "https://shop.example/media"},
		{"images elsewhere", LinkSettings{PublicURL: "http://shop.example", MediaURL: cdn + "/"}, "http://shop.example", "http://shop.example/index.php", cdn, cdn},
		{"images elsewhere over https", LinkSettings{PublicURL: "http://shop.example", SecureMediaURL: cdn}, "http://shop.example", "http://shop.example/index.php", "http://shop.example/media", cdn},
		{"images elsewhere over https, of the request", LinkSettings{SecureMediaURL: cdn}, host, host + "/index.php", host + "/media", cdn},
		{"two places of images", LinkSettings{MediaURL: "http://cdn.example/m", SecureMediaURL: cdn}, host, host + "/index.php", "http://cdn.example/m", cdn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			links := NewLinks(tt.settings)
			c := &Call{HTTP: httptest.NewRequest("GET", "http://called.example/api/rest/products", nil), Scheme: "http"}
			for _, one := range []struct{ what, got, want string }{
				{"base", links.Base(c), tt.base},
				{"page", links.Page(c, "/p?"), tt.page + "/p?"},
				{"media", links.Media(c, "/f/", "a.png"), tt.media + "/f/a.png"},
			} {
				if one.got != one.want {
					t.Errorf("%s: %s, want %s", one.what, one.got, one.want)
				}
			}
			c.Scheme = "https"
			if got := links.Media(c, "/f/", "a.png"); got != tt.mediaOnHTTPS+"/f/a.png" {
				t.Errorf("media over https: %s, want %s", got, tt.mediaOnHTTPS)
			}
		})
	}
}

// TestIsSecure checks which requests get the addresses for https (configurations 2.2).
func TestIsSecure(t *testing.T) {
	for _, tt := range []struct {
		scheme, host string
		want         bool
	}{
		{"http", "shop.example", false}, {"https", "shop.example", true}, {"http", "shop.example:443", true},
		{"http", "shop.example:8443", false}, {"http", "shop.example:80", false},
	} {
		c := &Call{HTTP: httptest.NewRequest("GET", "http://"+tt.host+"/", nil), Scheme: tt.scheme}
		if got := c.IsSecure(); got != tt.want {
			t.Errorf("%s, %s: %t", tt.scheme, tt.host, got)
		}
	}
}

// TestServedMediaFolders checks below which paths images are served (configurations 2.1).
func TestServedMediaFolders(t *testing.T) {
	for _, tt := range []struct {
		public, media, secureMedia string
		want                       []string
	}{
		{"", "", "", []string{"/media"}},
		{"", "http://cdn.example/files", "", []string{"/media"}},
		{"https://shop.example", "", "", []string{"/media"}},
		{"https://shop.example", "http://SHOP.example/files", "https://cdn.example/m", []string{"/media", "/files"}},
		{"https://shop.example", "http://shop.example/media", "https://shop.example/other/", []string{"/media", "/other"}},
		{"https://shop.example/eu", "https://shop.example/eu/files", "https://shop.example/europe/files", []string{"/media", "/files"}},
		{"https://shop.example/eu", "https://shop.example/files", ":", []string{"/media"}},
	} {
		s := LinkSettings{PublicURL: tt.public, MediaURL: tt.media, SecureMediaURL: tt.secureMedia}
		if got := s.ServedMediaFolders(); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q, want %q", s, got, tt.want)
		}
	}
}
