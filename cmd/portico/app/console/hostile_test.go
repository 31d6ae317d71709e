package console

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// hostileTexts are names and values as a hostile store, a legacy store or a client may have them.
func hostileTexts() map[string]string {
	return map[string]string{
		"element":             `<script>window.pwned=1</script>`,
		"end of an attribute": `"><img src=x onerror="window.pwned=1">`,
		"attribute":           `' onmouseover='window.pwned=1' x='`,
		"address":             `javascript:window.pwned=1//`,
		"other host":          `//evil.example/x?y#z`,
		"end of an element":   `</textarea></title></pre></select><svg onload="window.pwned=1">`,
		"template":            `{{.Token}}${window.pwned=1}`,
		"comment":             `--><!-- <![CDATA[ ]]>`,
		"header":              "a\r\nSet-Cookie: pwned=1\r\n\r\n<b>",
		"event":               "a\rdata: pwned\r\revent: pwned\n\ndata: pwned",
		"line of the log":     "a\ntime=2026-01-01T00:00:00Z level=INFO msg=audit action=pwned",
		"shell":               "a; touch pwned #`touch pwned`$(touch pwned)' && touch pwned '",
		"settings":            "a]\nauth:\n  bearer: true\n#",
		"formula":             `=HYPERLINK("http://evil.example")`,
		"terminal":            "\x1b]0;pwned\x07\x1b[31m\x9b31m",
		"other direction":     "\u202egro.elpmaxe\u202c\u2066\u200f",
		"invisible":           "ad\u200bmin\ufeff\u2060\u00ad",
		"ends of lines":       "a\u2028b\u2029c\u0085d\vd\fe",
		"not UTF-8":           "\xff\xfe\x80\xc0\xaf",
		"NUL":                 "a\x00b",
		"long word":           strings.Repeat("W", 60_000),
		"long text":           strings.Repeat("Lorem ipsum ", 5_000),
		"characters":          strings.Repeat("é", 40) + strings.Repeat("\u0301", 2000),
	}
}

// fill sets every text in a value to text, and every number to one; lists get one entry, and pointers
// a value.
func fill(v reflect.Value, text string, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), text, depth-1)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), text, depth-1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth-1)
		fill(value, text, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), text, depth)
			}
		}
	}
}

// filled returns a value in which every text is text.
func filled[T any](text string) (value T) {
	const depth = 6
	fill(reflect.ValueOf(&value).Elem(), text, depth)
	return value
}

// hostileSite serves a console whose every name and value is text.
func hostileSite(t testing.TB, text string) *site {
	t.Helper()
	return newSite(t, func(o *Options) {
		o.Version = text
		o.Ready = func(context.Context) (bool, string) { return false, text }
		o.Changed = func() []config.Row { return filled[[]config.Row](text) }
		o.Breakers = func() []Breaker { return filled[[]Breaker](text) }
		o.Migration.Plan = func(context.Context) (*plan.Plan, error) { return filled[*plan.Plan](text), nil }
		o.Migration.Routes = func() []string { return []string{text} }
		o.Migration.Preview = func(context.Context, string) (*Preview, error) { return filled[*Preview](text), nil }
		o.Differences = Differences{
			Load:    func(context.Context) (*DifferenceReport, error) { return filled[*DifferenceReport](text), nil },
			Ignored: func() []string { return []string{text} },
		}
		o.Callers = Callers{
			Load:    func(context.Context) (*CallerReport, error) { return filled[*CallerReport](text), nil },
			Refused: func() []RefusedCall { return filled[[]RefusedCall](text) },
		}
		grant := filled[adapter.Grant](text)
		for i := range grant.Tokens {
			grant.Tokens[i].Type = adapter.AccessToken
		}
		o.Credentials = Credentials{
			Consumers:   func(context.Context) ([]adapter.Grant, error) { return []adapter.Grant{grant}, nil },
			Keys:        func(context.Context) ([]adapter.APIKey, error) { return filled[[]adapter.APIKey](text), nil },
			Admins:      func(context.Context) ([]Admin, error) { return filled[[]Admin](text), nil },
			AddConsumer: func(context.Context, string, string) (adapter.Consumer, error) { return grant.Consumer, nil },
			AddToken:    func(context.Context, string, int64, int64) (adapter.Token, error) { return grant.Tokens[0], nil },
			AddKey: func(context.Context, string, string, int64) (adapter.APIKey, string, error) {
				return filled[adapter.APIKey](text), text, nil
			},
			RevokeToken:  func(context.Context, string) error { return Refusal(text) },
			RevokeKey:    func(context.Context, int64) error { return fmt.Errorf("%s", text) },
			DisableAdmin: func(context.Context, string) (int64, error) { return 7, nil },
			EnableAdmin:  func(context.Context, string) (int64, error) { return 7, nil },
		}
		o.Cache.Contents = func(int64) CacheContents { return filled[CacheContents](text) }
		o.Cache.PurgeTag = func(context.Context, string) {}
		o.Try.Impersonate = true
		o.Try.Send = func(context.Context, TryRequest) (*TryAnswer, error) { return filled[*TryAnswer](text), nil }
		o.Try.Base = func() string { return text }
	})
}

// hostilePages are the pages that have names and values, and the forms that answer with them.
func hostilePages(s *site, text string) map[string]string {
	q := url.QueryEscape(text)
	pages := map[string]string{}
	if len(q) > 8<<10 { // no server reads it
		q = url.QueryEscape("X y")
	}
	for _, path := range []string{
		"/", "/console/migration", "/console/differences?field=" + q, "/console/differences?view=samples", "/console/differences?ignore=" + q, "/console/callers?search=" + q,
		"/console/callers?caller=" + q, "/console/credentials?for=" + q, "/console/credentials?list=keys&search=" + q, "/console/credentials?list=admins",
		"/console/cache?product=1", "/console/cache?product=" + q, "/console/try?search=" + q, "/console/login?next=" + q, "/console/nothing?" + q,
	} {
		pages[strings.TrimSuffix(path, q)] = s.get(path).text
	}
	for path, form := range map[string]url.Values{
		"/console/migration/preview":         {"lines": {text}},
		"/console/credentials/add-consumer":  {"name": {text}},
		"/console/credentials/add-token":     {"consumer": {text}, "id": {"1"}},
		"/console/credentials/add-key":       {"name": {text}},
		"/console/credentials/revoke-token":  {"token": {text}},
		"/console/credentials/revoke-key":    {"key": {"1"}},
		"/console/credentials/disable-admin": {"username": {text}, "id": {text}},
		"/console/cache/purge-tag":           {"tag": {text}},
		"/console/try":                       {"call": {"getProduct"}, "param-id": {"1"}, "caller": {text + " " + text}, "accept": {"application/json"}, "body": {text}},
		"/console/try?" + q:                  {"call": {"getProduct"}, "param-id": {text}, "caller": {"guest"}, "accept": {"application/json"}, "query": {text}},
	} {
		if len(text) > maxForm/8 {
			continue
		}
		pages["POST "+strings.TrimSuffix(path, q)] = s.submit("/console/cache", path, form).text
	}
	return pages
}

// skeletonOf returns the elements of a page with the names of their attributes, and the faults of
// the page.
func skeletonOf(t *testing.T, page string) (skeleton []string, wrong []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		switch n.Type {
		case html.TextNode:
			if at := strings.IndexFunc(n.Data, isInvisible); at >= 0 {
				r, _ := utf8.DecodeRuneInString(n.Data[at:])
				wrong = append(wrong, fmt.Sprintf("a text has %U", r))
			}
			if len(n.Data) > 20_000 && n.Parent.Data != "pre" && n.Parent.Data != "textarea" {
				wrong = append(wrong, fmt.Sprintf("a text of %s has %d bytes", n.Parent.Data, len(n.Data)))
			}
		case html.CommentNode:
			skeleton = append(skeleton, "comment")
		case html.ElementNode:
			element := n.Data
			for _, a := range n.Attr {
				element += " " + a.Key
				value := strings.ToLower(strings.TrimSpace(a.Val))
				if slices.Contains([]string{"href", "src", "action", "data-events", "formaction"}, a.Key) && (!strings.HasPrefix(value, "/") || strings.HasPrefix(value, "//")) && !strings.HasPrefix(value, "#") {
					wrong = append(wrong, fmt.Sprintf("%s leads to %.80q", a.Key, a.Val))
				}
			}
			skeleton = append(skeleton, element)
		}
	}
	return skeleton, wrong
}

// TestHostileNames: with hostile names and values, pages have the same elements, attributes and
// links as with harmless ones, no invisible characters, and only texts of bounded length. Each
// entry of the log is one line.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	harmless := map[string][]string{} // by page, the skeletons that it may have
	for _, like := range [][2]string{{"X y", "X y"}, {"x", "x"}, {"Z", "X y"}, {"(", "("}} {
		for name, page := range hostilePages(hostileSite(t, like[0]), like[1]) {
			skeleton, wrong := skeletonOf(t, page)
			if len(wrong) > 0 {
				t.Errorf("%s: %q", name, wrong)
			}
			harmless[name] = append(harmless[name], strings.Join(skeleton, "\n"))
		}
	}
	for what, text := range hostileTexts() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := hostileSite(t, text)
			for name, page := range hostilePages(s, text) {
				skeleton, wrong := skeletonOf(t, page)
				if len(wrong) > 0 {
					t.Errorf("%s: %q", name, slices.Compact(wrong))
				}
				if !utf8.ValidString(page) {
					t.Errorf("%s is not UTF-8", name)
				}
				if !slices.Contains(harmless[name], strings.Join(skeleton, "\n")) {
					t.Errorf("%s has other elements: %q", name, skeleton)
				}
			}
			for _, line := range strings.FieldsFunc(firstEvent(s), func(r rune) bool { return r == '\n' || r == '\r' }) {
				if !strings.HasPrefix(line, "data: ") {
					t.Errorf("the stream has the line %.200q", line)
				}
			}
			for line := range strings.Lines(s.log.String()) {
				if !strings.HasPrefix(line, "time=2") || strings.Contains(line, "time=2026-01-01T00:00:00Z level=INFO msg=audit action=pwned\n") && !strings.Contains(line, `\n`) || len(line) > 2<<10 {
					t.Errorf("the log has the line %.200q", line)
				}
			}
		})
	}
}

// firstEvent returns the first event of the stream.
func firstEvent(s *site) string {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/console/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := s.browser.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var event strings.Builder
	for lines := bufio.NewReader(response.Body); !strings.HasSuffix(event.String(), "\n\n"); {
		line, err := lines.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		event.WriteString(line)
	}
	return event.String()
}

// TestHostileNameComesBack: a form sends back the name that a page could not show, and the audit
// log names the administrator by id, not by the name in the form.
func TestHostileNameComesBack(t *testing.T) {
	t.Parallel()
	for what, username := range map[string]string{
		"other direction": "\u202enimda\u2066", "invisible": "ad\u200bmin\u00ad", "lines": "a\rb\nc", "terminal": "\x1b[31m", "markup": `"><b>&amp;'`, "long": strings.Repeat("é", 3000),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var disabled string
			s := newSite(t, func(o *Options) {
				o.Credentials.Admins = func(context.Context) ([]Admin, error) { return []Admin{{ID: 7, Username: username}}, nil }
				o.Credentials.DisableAdmin = func(_ context.Context, name string) (int64, error) { disabled = name; return 7, nil }
			})
			const page, path = "/console/credentials?list=admins", "/console/credentials/disable-admin"
			root, err := html.Parse(strings.NewReader(s.get(page).text))
			if err != nil {
				t.Fatal(err)
			}
			form := url.Values{"id": {"1"}}
			for n := range root.Descendants() {
				if n.Type == html.ElementNode && n.Data == "input" && n.Parent.Parent != nil {
					attributes := map[string]string{}
					for _, a := range n.Attr {
						attributes[a.Key] = a.Val
					}
					if attributes["type"] == "hidden" && attributes["name"] == "username" {
						form.Set("username", attributes["value"])
					}
				}
			}
			if got := s.submit(page, path, form); got.StatusCode != http.StatusSeeOther || disabled != username {
				t.Errorf("%d, disabled %q, want %q", got.StatusCode, disabled, username)
			}
			if log := s.log.String(); !strings.Contains(log, `action="disable administrator"`) || !strings.Contains(log, "admin=7\n") {
				t.Errorf("the log: %s", log)
			}
		})
	}
}
