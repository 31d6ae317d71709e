package reststore_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A recordedCase is a sequence of requests to a live backend, with its responses.
type recordedCase struct {
	Name  string         `json:"name"`
	Steps []recordedStep `json:"steps"`
}

// A recordedStep is one request and its response. Texts have {{token}} in place of tokens, and {{base_url}} in
// place of the backend's address.
type recordedStep struct {
	As       string            `json:"as,omitempty"`
	Method   string            `json:"method"`
	Path     string            `json:"path"` // with the query
	Headers  map[string]string `json:"headers,omitempty"`
	Request  json.RawMessage   `json:"request"` // the JSON of the body; null for none
	Response recordedResponse  `json:"response"`
}

// A recordedResponse has a body of JSON as it is, a body of text as a JSON string, and any other body as
// {"bytes": BASE64}.
type recordedResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// An ignoredPart is a part of requests that differs from run to run.
type ignoredPart struct {
	pattern *regexp.Regexp
	why     string
}

// loadRecorded reads the cases in the files of a folder, by the names of the files.
func loadRecorded(t testing.TB, pattern string) map[string][]recordedCase {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no recordings at %s: %v", pattern, err)
	}
	all := map[string][]recordedCase{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var cases []recordedCase
		if err := json.Unmarshal(content, &cases); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[filepath.Base(name)] = cases
	}
	return all
}

// A recordedBackend is a server that answers with the responses of recorded steps, in their order: a write
// with the response of the first step that has not been sent yet, a read with the response that it had after
// the last write that was sent. It refuses requests that no step has. It is safe for concurrent use.
type recordedBackend struct {
	*httptest.Server
	unknown func(request string) // called for a request that no step has
	ignored []ignoredPart

	mu    sync.Mutex
	steps []recordedStep
	keys  []string
	sent  []bool
	last  int // the place of the last write that was sent; -1 before
}

func startRecorded(t testing.TB, steps []recordedStep, ignored []ignoredPart, unknown func(string)) *recordedBackend {
	t.Helper()
	b := &recordedBackend{unknown: unknown, ignored: ignored, steps: steps, sent: make([]bool, len(steps)), last: -1}
	for i := range steps {
		b.keys = append(b.keys, b.key(steps[i].Method, steps[i].Path, steps[i].Request))
	}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

// key returns the text by which requests are compared: parameters and members are sorted, and ignored parts
// replaced.
func (b *recordedBackend) key(method, target string, body []byte) string {
	path, query, _ := strings.Cut(target, "?")
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return "invalid query " + target
	}
	text := method + " " + path
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		text += " " + name + "=" + strings.Join(parameters[name], "&")
	}
	var decoded any
	if len(body) > 0 && json.Unmarshal(body, &decoded) == nil && decoded != nil {
		sorted, _ := json.Marshal(decoded)
		text += " " + string(sorted)
	}
	for _, part := range b.ignored {
		text = part.pattern.ReplaceAllString(text, "${1}IGNORED")
	}
	return text
}

func (b *recordedBackend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	key := b.key(r.Method, r.URL.RequestURI(), body)
	step := b.find(r.Method == http.MethodGet, key)
	if step == nil {
		b.unknown(key)
		w.WriteHeader(http.StatusNotImplemented)
		return
	}
	for name, value := range step.Response.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(step.Response.Status)
	_, _ = w.Write(bytes.ReplaceAll(step.Response.bytes(), []byte("{{base_url}}"), []byte(b.URL)))
}

// find returns the step that answers a request, nil for none.
func (b *recordedBackend) find(reads bool, key string) *recordedStep {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !reads {
		for i, k := range b.keys {
			if k == key && !b.sent[i] {
				b.sent[i], b.last = true, i
				return &b.steps[i]
			}
		}
		return nil
	}
	found := -1
	for i, k := range b.keys {
		if i > b.last && b.steps[i].Method != http.MethodGet && found >= 0 {
			break
		}
		if k == key {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	b.sent[found] = true
	return &b.steps[found]
}

// bytes returns the body.
func (r *recordedResponse) bytes() []byte {
	if isJSON(r.Headers["Content-Type"]) {
		var compact bytes.Buffer
		_ = json.Compact(&compact, r.Body) // files are indented
		return compact.Bytes()
	}
	var text string
	if json.Unmarshal(r.Body, &text) == nil {
		return []byte(text)
	}
	var binary struct{ Bytes []byte }
	_ = json.Unmarshal(r.Body, &binary)
	return binary.Bytes
}

func isJSON(contentType string) bool { return strings.HasPrefix(contentType, "application/json") }

// A recordingProxy passes requests on to a live backend, and records them. It is safe for concurrent use.
type recordingProxy struct {
	*httptest.Server
	target string
	client http.Client

	mu    sync.Mutex
	steps []recordedStep
}

func startRecording(t testing.TB, target string) *recordingProxy {
	t.Helper()
	p := &recordingProxy{target: strings.TrimSuffix(target, "/")}
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *recordingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, p.target+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	for _, name := range []string{"Authorization", "Content-Type", "Accept"} {
		if value := r.Header.Get(name); value != "" {
			out.Header.Set(name, value)
		}
	}
	in, err := p.client.Do(out)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = in.Body.Close() }()
	answer, err := io.ReadAll(in.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	p.record(r, body, in, answer)
	w.Header().Set("Content-Type", in.Header.Get("Content-Type"))
	w.WriteHeader(in.StatusCode)
	_, _ = w.Write(bytes.ReplaceAll(answer, []byte(p.target), []byte(p.URL)))
}

func (p *recordingProxy) record(r *http.Request, body []byte, in *http.Response, answer []byte) {
	step := recordedStep{Method: r.Method, Path: r.URL.RequestURI(), Request: json.RawMessage("null")}
	login := strings.HasSuffix(r.URL.Path, "/token")
	if json.Valid(body) && !login {
		step.Request = body
	}
	contentType := in.Header.Get("Content-Type")
	step.Response = recordedResponse{Status: in.StatusCode, Headers: map[string]string{"Content-Type": contentType}}
	answer = bytes.ReplaceAll(bytes.ReplaceAll(answer, []byte(p.target), []byte("{{base_url}}")),
		[]byte(strings.ReplaceAll(p.target, "/", `\/`)), []byte("{{base_url}}"))
	switch {
	case login:
		step.Response.Body = json.RawMessage(`"{{token}}"`)
	case isJSON(contentType) && json.Valid(answer):
		step.Response.Body = answer
	case strings.HasPrefix(contentType, "text/"):
		step.Response.Body, _ = json.Marshal(string(answer))
	default:
		step.Response.Body, _ = json.Marshal(map[string][]byte{"bytes": answer})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, step)
}

// save writes the recorded steps to a file, as a single case.
func (p *recordingProxy) save(t testing.TB, file, name string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := cmp.Or(e.Encode([]recordedCase{{Name: name, Steps: p.steps}}), os.WriteFile(file, out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestRecordedBackend records a backend whose answers change with writes, and checks that the recording
// answers in the same way, and refuses requests that were not recorded.
func TestRecordedBackend(t *testing.T) {
	state := "new"
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/image":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte{0x89, 'P'})
			return
		case r.URL.Path == "/broken":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(500)
			_, _ = io.WriteString(w, "<html>")
			return
		case r.Method == http.MethodPut:
			state = string(body)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"state":%q,"at":"http://%s"}`, state, r.Host)
	}))
	defer live.Close()
	send := func(base, method, target, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		in, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = in.Body.Close() }()
		answer, err := io.ReadAll(in.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(in.StatusCode, " ", in.Header.Get("Content-Type"), " ", strings.ReplaceAll(string(answer), base, "BASE"))
	}
	run := func(base, since string) (answers []string) {
		for _, r := range [][3]string{
			{"GET", "/state?b=2&a=1"}, {"PUT", "/state", `{"x": 1, "y": 2}`}, {"GET", "/state?a=1&b=2"}, {"GET", "/state?b=2&a=1"},
			{"PUT", "/state", `{"z": 1}`}, {"GET", "/state?a=1&b=2"}, {"GET", "/image"}, {"GET", "/broken"}, {"GET", "/state?since=" + since},
		} {
			answers = append(answers, send(base, r[0], r[1], r[2]))
		}
		return answers
	}
	proxy := startRecording(t, live.URL)
	want := run(proxy.URL, "2026-01-01")
	file := filepath.Join(t.TempDir(), "recorded.json")
	proxy.save(t, file, "states")
	cases := loadRecorded(t, file)["recorded.json"]
	var unknown []string
	ignored := []ignoredPart{{regexp.MustCompile(`(since=)\S+`), "the time of the run"}}
	recorded := startRecorded(t, cases[0].Steps, ignored, func(request string) { unknown = append(unknown, request) })
	if got := run(recorded.URL, "2026-02-02"); !slices.Equal(got, want) {
		t.Errorf("the recording answers\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(unknown) != 0 {
		t.Errorf("unknown requests: %q", unknown)
	}
	for _, target := range []string{"/other", "/state?a=2&b=2"} {
		send(recorded.URL, "GET", target, "")
	}
	send(recorded.URL, "PUT", "/state", `{"z": 1}`) // it was sent once
	if len(unknown) != 3 {
		t.Errorf("refused %q, want three requests", unknown)
	}
}
