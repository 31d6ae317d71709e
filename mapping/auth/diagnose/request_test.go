package diagnose_test

import (
	"fmt"
	"os/exec"
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
		{"curl", "curl http://h/a", "GET http h /a  "},
		{"curl with a path and a prompt", "$ /usr/bin/curl h", "GET http h /  "},
		{"several lines", "curl -v \\\n  -H 'A: b' \\\r\n  'https://u:p@h:1/a?b=c&d#e'", "GET https h:1 /a?b=c&d [A: b] "},
		{"data", `curl -sSd "a=\"1\"" --data-raw @b http://h`, `POST http h / [Content-Type: application/x-www-form-urlencoded] a="1"&@b`},
		{"data in the query", "curl -G -d a=1 --data-urlencode 'b=x y' http://h/?c", "GET http h /?c&a=1&b=x+y  "},
		{"data in a file", "curl -d @secret http://h", "POST http h / [Content-Type: application/x-www-form-urlencoded]  missing"},
		{"upload", "curl -T file http://h/a", "PUT http h /a [Content-Type: application/x-www-form-urlencoded]  missing"},
		{"attached values", "curl -XPUT -HA:b --url=http://h", "PUT http h / [A: b] "},
		{"host", "curl -H 'Host: shop' http://127.0.0.1:8080/", "GET http shop / [Host: shop] "},
		{"options with values", "curl -o out -u a:b --max-time 3 -k http://h", "GET http h /  "},
		{"head", "curl -I http://h", "HEAD http h /  "},
		{"JSON", `curl --json '{"a":1}' http://h`, `POST http h / [Content-Type: application/json] {"a":1}`},
		{"quotes of a browser", `curl http://h -H $'A: \u00e4\x21\'\\\n'`, "GET http h / [A: ä!'\\] "},
		{"ampersand without quotes", "curl http://h/?a=1&b=2", "GET http h /?a=1  "},
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
			if r.BodyMissing {
				got += " missing"
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	for name, text := range map[string]string{
		"nothing": "", "no request": "hello", "no host": "GET /a HTTP/1.1\n", "no header": "GET /a\nHost: h\nx y\n", "other scheme": "GET ftp://h/a",
		"no URL": "curl -v", "two URLs": "curl h i", "no value": "curl h -H", "open quote": "curl 'h", "bad host": "curl 'http://h h/'", "path": "curl /a",
		"long": "GET /" + strings.Repeat("a", diagnose.MaxText),
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := diagnose.Parse(text); err == nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestWords compares the words of command lines with those of a shell.
func TestWords(t *testing.T) {
	for _, quoted := range []string{`a\ b`, `'a\b'"c\d\"e\\"`, `""x''`, `a"b c"'d e'\f`, "\"a\\\nb\"", `"\'"`} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+quoted).Output()
		if err != nil {
			t.Fatal(err)
		}
		r, err := diagnose.Parse("curl --data-raw " + quoted + " http://h")
		if err != nil || r.Body != string(out) {
			t.Errorf("%s is %q, want %q (%v)", quoted, r.Body, out, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("GET /a?b=1 HTTP/1.1\r\nHost: h\r\n\r\nbody")
	f.Add(`curl -sSd "a=\"1\"" -H $'A: \u00e4\x21\'' --data-raw @b http://h`)
	f.Add("curl -XPUT -G --data-urlencode a@b 'http://h:1/?#'")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := diagnose.Parse(text)
		if err != nil {
			return
		}
		if r.Host == "" || r.Target == "" || r.Method == "" && r.Scheme == "" || len(r.Target)+len(r.Body) > 4*len(text)+10 {
			t.Errorf("%+v", r)
		}
	})
}
