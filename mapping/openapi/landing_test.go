package openapi

import (
	"errors"
	"html"
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// browsers are the Accept headers of current browsers.
var browsers = map[string]string{
	"Chrome":  "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
	"Firefox": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
	"Lynx":    "text/html, text/plain, text/sgml, text/css, application/xhtml+xml, */*;q=0.01",
}

func request(method, target, accept string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	return r
}

// TestWanted checks that only browsers get the page.
func TestWanted(t *testing.T) {
	page, err := NewLandingPage(LandingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const at = "http://store.example/"
	type row struct {
		name, method, target, accept string
		want                         bool
	}
	tests := []row{
		{"HEAD", http.MethodHead, at, browsers["Chrome"], true},
		{"query", http.MethodGet, at + "?a=1", browsers["Chrome"], true},
		{"port", http.MethodGet, "http://[::1]:8080/", browsers["Chrome"], true},
		{"POST", http.MethodPost, at, browsers["Chrome"], false},
		{"another path", http.MethodGet, at + "x", browsers["Chrome"], false},
		{"two slashes", http.MethodGet, at + "/", browsers["Chrome"], false},
		{"odd host", http.MethodGet, "http://a';id;'.example/", browsers["Chrome"], false},
		{"no Accept", http.MethodGet, at, "", false},
		{"curl", http.MethodGet, at, "*/*", false},
		{"any text", http.MethodGet, at, "text/*", false},
		{"JSON", http.MethodGet, at, "application/json", false},
		{"XML", http.MethodGet, at, "text/xml", false},
		{"JSON before HTML", http.MethodGet, at, "application/json, text/html", false},
		{"JSON rather than HTML", http.MethodGet, at, "text/html;q=0.5, application/json", false},
		{"anything rather than HTML", http.MethodGet, at, "*/*, text/html;q=0.1", false},
		{"no HTML", http.MethodGet, at, "text/html;q=0", false},
		{"HTML with a parameter", http.MethodGet, at, "Text/HTML; charset=utf-8 ;q=0.9, */*;q=0.8", true},
		{"no number", http.MethodGet, at, "text/html;q=NaN", false},
		{"long", http.MethodGet, at, "text/html," + strings.Repeat(" ", maxAccept), false},
	}
	for name, accept := range browsers {
		tests = append(tests, row{name, http.MethodGet, at, accept, true})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := page.Wanted(request(tt.method, tt.target, tt.accept)); got != tt.want {
				t.Errorf("%t, want %t", got, tt.want)
			}
		})
	}
}

// FuzzAccept checks that only clients that name text/html get the page.
func FuzzAccept(f *testing.F) {
	for _, accept := range browsers {
		f.Add(accept)
	}
	f.Add("text/html;q=1e999;;q=,,;")
	f.Fuzz(func(t *testing.T, accept string) {
		if prefersHTML(accept) && !strings.Contains(strings.ToLower(accept), "text/html") {
			t.Errorf("%q prefers HTML", accept)
		}
	})
}

// TestServe checks the content of the page, and that it holds nothing more. TestTopics checks
// that a demo has more pages, for browsers alone, and that the first page links to them.
func TestTopics(t *testing.T) {
	page, err := NewLandingPage(LandingOptions{Dialect: "documented"})
	if err != nil {
		t.Fatal(err)
	}
	topic := request(http.MethodGet, "http://store.example/calls", browsers["Chrome"])
	if page.Wanted(topic) {
		t.Error("a store that is no demo has the page")
	}
	content := template.HTML("<p>content</p>")
	page.SetDemo(func(string) LandingDemo { return LandingDemo{Examples: []LandingExample{{"A", "true\n"}}} },
		LandingTopic{"/calls", "All calls", func() (template.HTML, error) { return content, nil }},
		LandingTopic{"/broken", "Broken", func() (template.HTML, error) { return "", errors.New("broken") }})
	if !page.Wanted(topic) || page.Wanted(request(http.MethodGet, "http://store.example/calls", "*/*")) || page.Wanted(request(http.MethodGet, "http://store.example/other", browsers["Chrome"])) {
		t.Error("the page is not for browsers that ask for it")
	}
	for path, want := range map[string]string{
		"/": `<a href="http://store.example/calls">All calls</a>`, "/calls": "<p>content</p>",
	} {
		w := httptest.NewRecorder()
		if err := page.Serve(w, request(http.MethodGet, "http://store.example"+path, browsers["Chrome"]), "http"); err != nil || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %v\n%s", path, err, w.Body)
		}
	}
	if err := page.Serve(httptest.NewRecorder(), request(http.MethodGet, "http://store.example/broken", browsers["Chrome"]), "http"); err == nil {
		t.Error("a page without content is served")
	}
}

func TestServe(t *testing.T) {
	example := LandingExample{"A & B", "curl '<x>' \\\n  -d 1\n"}
	demo := func(base string) LandingDemo {
		return LandingDemo{Console: "http://127.0.0.1:9464/", Examples: []LandingExample{{"Base", base + "\n"}, example}}
	}
	for _, tt := range []struct {
		name    string
		options LandingOptions
		demo    func(string) LandingDemo
		want    []string
		without string
	}{
		{"shop", LandingOptions{ShopName: "Müller & Söhne", PublicURL: "https://shop.example/eu/", Dialect: "magento"}, nil,
			[]string{"<h1>Müller &amp; Söhne</h1>", "https://shop.example/eu/api/rest", "<strong>magento</strong>"}, "demo"},
		{"no name", LandingOptions{Dialect: "documented"}, nil, []string{"<h1>store.example</h1>", "https://store.example:8443/api/rest"}, "demo"},
		{"demo", LandingOptions{Dialect: "documented"}, demo,
			[]string{`<a href="http://127.0.0.1:9464/">`, "<pre>https://store.example:8443\n</pre>", "<h3>A &amp; B</h3>", "<pre>" + html.EscapeString(example.Commands) + "</pre>"}, "<script"},
		{"demo without a console", LandingOptions{Dialect: "documented"}, func(string) LandingDemo { return LandingDemo{Examples: []LandingExample{example}} },
			[]string{"<h2>This is a demo store</h2>", "See two products"}, "console"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, err := NewLandingPage(tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if tt.demo != nil {
				page.SetDemo(tt.demo)
			}
			w := httptest.NewRecorder()
			if err := page.Serve(w, request(http.MethodGet, "http://store.example:8443/", browsers["Chrome"]), "https"); err != nil {
				t.Fatal(err)
			}
			for _, part := range tt.want {
				if !strings.Contains(w.Body.String(), part) {
					t.Errorf("no %s in\n%s", part, w.Body)
				}
			}
			if strings.Contains(w.Body.String(), tt.without) || w.Body.Len() > 8<<10 {
				t.Errorf("%d bytes, or %q in\n%s", w.Body.Len(), tt.without, w.Body)
			}
			for name, part := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; style-src 'sha256-", "Vary": "Accept", "Cache-Control": "no-store",
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Content-Type": "text/html; charset=utf-8",
			} {
				if value := w.Header().Get(name); !strings.Contains(value, part) || strings.Contains(value, "unsafe") {
					t.Errorf("%s: %q", name, value)
				}
			}
		})
	}
}
