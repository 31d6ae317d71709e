package contracttests

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// loaded returns the value that load returns, which must not fail.
func loaded[T any](t *testing.T, load func() (T, error)) T {
	t.Helper()
	v, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestExchangesLoad checks that all built-in recordings load and cite sections.
func TestExchangesLoad(t *testing.T) {
	cases := loaded(t, Exchanges)
	steps := 0
	for _, c := range cases {
		steps += len(c.Steps)
		if c.Clause == "" {
			t.Errorf("%s/%s names no clause", c.File, c.Name)
		}
	}
	if len(cases) != 589 || steps != 2452 {
		t.Errorf("%d cases of %d steps, want 589 of 2452", len(cases), steps)
	}
}

// TestRecordingsAreCanonical checks that every recorded body equals its canonical
// rendering. A body that does not shows an error in the rendering.
func TestRecordingsAreCanonical(t *testing.T) {
	cases := loaded(t, Exchanges)
	// Recordings in which {{any}} stands for white space after an element.
	replacedBlanks := regexp.MustCompile(`</\w+>\{\{any\}\}`)
	counts := map[string]int{}
	for _, c := range cases {
		for i, s := range c.Steps {
			if s.Response.ContentType == nil || s.Response.Body == "" {
				continue
			}
			f, ok := formatOfMediaType(*s.Response.ContentType)
			if !ok {
				continue
			}
			if replacedBlanks.MatchString(s.Response.Body) {
				counts["swallowed"]++
				continue
			}
			body := strings.NewReplacer("{{any}}", "x", "{{base_url}}", "b", "{{datetime}}", "d").Replace(s.Response.Body)
			tree, err := f.parse(body)
			if err != nil {
				t.Errorf("%s/%s step %d: %v", c.File, c.Name, i+1, err)
				continue
			}
			if got := f.canonical(&tree); got != body {
				want, got := mark(body, got)
				t.Errorf("%s/%s step %d:\nwant %s\ngot  %s", c.File, c.Name, i+1, want, got)
			}
			counts[f.name]++
		}
	}
	if counts["swallowed"] != 3 {
		t.Errorf("%d recordings with swallowed white space, want 3", counts["swallowed"])
	}
	for _, f := range []string{"JSON", "XML", "form"} {
		if counts[f] < 40 {
			t.Errorf("%d recordings in %s, want at least 40", counts[f], f)
		}
	}
}

// TestLoadErrors checks the errors for invalid files of exchanges.
func TestLoadErrors(t *testing.T) {
	const good = `[{"name":"n","steps":[{"as":"guest","method":"GET","path":"/x","response":{"status":200,"body":""}}]}]`
	if _, err := Load(fstest.MapFS{"a.json": {Data: []byte(good)}}); err != nil {
		t.Fatalf("the case all others are made from: %v", err)
	}
	for _, tt := range []struct{ name, old, new, want string }{
		{"NoList", good, `{}`, "cannot unmarshal"},
		{"CutShort", good, good[:50], "unexpected EOF"},
		{"TrailingText", good, good + "x", "text after the list"},
		{"BadUTF8", `"n"`, "\"\xff\"", "UTF-8"},
		{"UnknownField", `"name"`, `"nmae"`, "unknown field"},
		{"NoName", `"n"`, `""`, "has no name"},
		{"NameTwice", good, good[:len(good)-1] + "," + good[1:], "duplicate"},
		{"NoSteps", good, `[{"name":"n","steps":[]}]`, "no steps"},
		{"UnknownCaller", "guest", "root", "unknown caller"},
		{"MethodWithBlank", "GET", "GE T", "not a token"},
		{"NoMethod", "GET", "", "not a token"},
		{"PathWithBlank", `"/x"`, `"/x y"`, "characters outside ASCII"},
		{"PathWithLineEnd", `"/x"`, `"/x\r\nX: y"`, "characters outside ASCII"},
		{"PathNotASCII", `"/x"`, `"/é"`, "characters outside ASCII"},
		{"TargetNoPath", `"/x"`, `"!x"`, "neither a path nor absolute"},
		{"HeaderName", `"path"`, `"headers":{"a b":"c"},"path"`, "not a token"},
		{"HeaderValue", `"path"`, `"headers":{"a":"b\r\nc: d"},"path"`, "contains a line end"},
		{"AcceptValue", `"path"`, `"accept":"b\nc: d","path"`, "contains a line end"},
		{"OwnHeader", `"path"`, `"headers":{"content-length":"1"},"path"`, "is set by the suite"},
		{"NoStatus", `"status":200,`, ``, "status 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := strings.Replace(good, tt.old, tt.new, 1)
			_, err := Load(fstest.MapFS{"a.json": {Data: []byte(data)}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "a.json") {
				t.Errorf("error %v, want one of a.json with %q", err, tt.want)
			}
		})
	}
	t.Run("NoFiles", func(t *testing.T) {
		if cases, err := Load(fstest.MapFS{}); err == nil {
			t.Errorf("%d cases of no files", len(cases))
		}
	})
	t.Run("TooLarge", func(t *testing.T) {
		data := append([]byte(good), bytes.Repeat([]byte(" "), maxExchangeFile)...)
		if _, err := Load(fstest.MapFS{"a.json": {Data: data}}); err == nil || !strings.Contains(err.Error(), "larger") {
			t.Errorf("error %v, want one of the size", err)
		}
	})
}

// FuzzLoad checks that every step of a valid file can be sent as exactly one request.
func FuzzLoad(f *testing.F) {
	names, err := fs.Glob(exchangeFiles, "exchanges/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(exchangeFiles, name)
		if err != nil {
			f.Fatal(err)
		}
		// The first case alone: a whole file is too large to be changed usefully.
		first, _, _ := bytes.Cut(data, []byte("\n },"))
		f.Add(append(first, "}]"...))
	}
	srv, err := parseServer("http://127.0.0.1:1", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, err := decodeExchanges("f.json", data, (*Step).validate)
		if err != nil {
			return
		}
		for _, c := range cases {
			for _, s := range c.Steps {
				r := newRequest(srv, testCredentials, &s)
				head, _, _ := strings.Cut(string(r.bytes()), "\r\n\r\n")
				want := 2 + len(r.headers) + len(r.auth)
				if r.contentLength() != "" {
					want++
				}
				lines := strings.FieldsFunc(head, func(r rune) bool { return r == '\r' || r == '\n' })
				if len(lines) != want || len(strings.Split(lines[0], " ")) != 3 {
					t.Errorf("%d lines in the head, want %d: %q", len(lines), want, head)
				}
			}
		}
	})
}

// TestReplaceReplies checks that replies in which a later version differs replace the recorded ones, and
// that every one has its step.
func TestReplaceReplies(t *testing.T) {
	for data, want := range map[string]string{
		`[{"name":"a","clause":"openmage 6","replies":[null,{"status":404,"body":"new"}]}]`: "old new, openmage 6",
		`[{"name":"b","clause":"openmage 6","replies":[null,null]}]`:                        `"b" is no exchange of 2 steps`,
		`[{"name":"a","clause":"openmage 6","replies":[null]}]`:                             `"a" is no exchange of 1 steps`,
		`[{"name":"a","clause":"openmage 6","replies":[null,{"status":1}]}]`:                "step 2: status 1",
		`[{"name":"a","when":"later"}]`:                                                     "unknown field",
	} {
		steps := []Step{step("GET", "/a", "old"), step("GET", "/b", "old")}
		for i := range steps {
			steps[i].As = Guest
		}
		all := []Exchange{{Name: "a", Clause: "wire 1", Steps: steps}}
		got := fmt.Sprint(replaceReplies(all, []byte(data)))
		if got == "<nil>" {
			got = steps[0].Response.Body + " " + steps[1].Response.Body + ", " + strings.TrimPrefix(all[0].Clause, "wire 1; ")
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", data, got, want)
		}
	}
}
