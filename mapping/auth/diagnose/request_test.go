package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/auth/diagnose"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"raw", "GET /a?b=1 HTTP/1.1\r\nHost: h:81\r\nAuthorization: OAuth x\r\n\r\n", "GET  h:81 /a?b=1 [Authorization: OAuth x][Host: h:81] "},
		{"raw with a body", "\nPOST /a\nHost: h\nContent-Type: text/xml\n\n<a>\n</a>", "POST  h /a [Content-Type: text/xml][Host: h] <a>\n</a>"},
		{"folded header", "GET /a\nAuthorization: OAuth a=1,\n  b=2,\r\n\tc=3\nHost: h\n", "GET  h /a [Authorization: OAuth a=1, b=2, c=3][Host: h] "},
		{"absolute", "GET https://h/a HTTP/2\n", "GET https h /a  "},
		{"URL", "https://u:p@h:1/a?b=c&d#e\nA: b", "GET https h:1 /a?b=c&d [A: b] "},
		{"URL without a path", "PUT http://h", "PUT http h /  "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := diagnose.Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			headers := ""
			for _, name := range []string{"A", "Authorization", "Content-Type", "Host"} {
				for _, value := range r.Header[name] {
					headers += "[" + name + ": " + value + "]"
				}
			}
			got := fmt.Sprintf("%s %s %s %s %s %s", r.Method, r.Scheme, r.Host, r.Target, headers, r.Body)
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	for name, text := range map[string]string{
		"nothing": "", "no request": "hello", "no host": "GET /a HTTP/1.1\n", "no header": "GET /a\nHost: h\nx y\n", "other scheme": "GET ftp://h/a",
		"bad host": "http://%/", "path": "/a",
		"long": "GET /" + strings.Repeat("a", diagnose.MaxText),
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := diagnose.Parse(text); err == nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("GET /a?b=1 HTTP/1.1\r\nHost: h\r\n\r\nbody")
	f.Add("PUT http://u@h:1/?#\nA: b\n c\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := diagnose.Parse(text)
		if err != nil {
			return
		}
		if r.Host == "" || r.Target == "" || r.Method == "" || len(r.Target)+len(r.Body) > 4*len(text)+10 {
			t.Errorf("%+v", r)
		}
	})
}
