package contracttests

import (
	"strings"
	"testing"
)

// TestParseBaseURL checks the base URLs that are meant by the texts that people give.
func TestParseBaseURL(t *testing.T) {
	for _, tt := range []struct{ name, text, want, problem string }{
		{"complete", "https://shop.example", "https://shop.example", ""},
		{"blanks around it", " https://shop.example\n", "https://shop.example", ""},
		{"scheme in capitals", "HTTP://shop.example", "http://shop.example", ""},
		{"trailing slash", "http://shop.example/", "http://shop.example", ""},
		{"path", "http://shop.example/shop/index.php", "http://shop.example/shop/index.php", ""},
		{"path with a slash", "http://shop.example/shop/index.php/", "http://shop.example/shop/index.php", ""},
		{"root of the contract", "http://shop.example/api/rest", "http://shop.example", ""},
		{"root of the contract below a path", "http://shop.example/shop/index.php/api/rest/", "http://shop.example/shop/index.php", ""},
		{"path that only begins like it", "http://shop.example/api/restore", "http://shop.example/api/restore", ""},
		{"loopback address", "127.0.0.1:8080", "http://127.0.0.1:8080", ""},
		{"loopback address, IPv6", "[::1]:8080/shop", "http://[::1]:8080/shop", ""},
		{"private address", "192.168.1.7", "http://192.168.1.7", ""},
		{"localhost", "localhost:8080/api/rest", "http://localhost:8080", ""},
		{"name of a container", "portico:8080", "http://portico:8080", ""},
		{"public name", "shop.example", "https://shop.example", ""},
		{"public name, port and path", "shop.example:8443/index.php/api/rest", "https://shop.example:8443/index.php", ""},
		{"public address", "203.0.113.9", "https://203.0.113.9", ""},
		{"empty", " ", "", "no host: give http(s)://host"},
		{"no host", "http:///shop", "", "no host: give http(s)://host"},
		{"other scheme", "ftp://shop.example", "", "scheme must be http or https: give http(s)://host"},
		{"one slash", "http:/shop.example", "", "two slashes must follow"},
		{"password", "https://ada:hidden@shop.example", "", "user name or password"},
		{"password and a bad port", "https://ada:hidden@shop.example:x", "", "not a URL: give http(s)://host"},
		{"query", "shop.example/api/rest?limit=1", "", "must end before ? and #: give https://shop.example"},
		{"empty query", "http://shop.example/a?", "", "give http://shop.example/a"},
		{"fragment", "http://shop.example/#x", "", "give http://shop.example"},
		{"port without digits", "http://shop.example:/", "", "port must be a number from 1 to 65535"},
		{"port out of range", "http://shop.example:70000", "", "port must be a number from 1 to 65535"},
		{"call of the contract", "http://shop.example/shop/api/rest/products", "", "must end before /api/rest: http://shop.example/shop"},
		{"control character", "http://shop.example/\x01", "", "not a URL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseBaseURL(tt.text)
			if got != tt.want || (err == nil) != (tt.problem == "") || err != nil && (!strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), "hidden")) {
				t.Errorf("got %q, %v; want %q, %q", got, err, tt.want, tt.problem)
			}
		})
	}
}
