package contracttests

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A recordingServer replies to the steps of exchanges in order with their recorded
// responses.
type recordingServer struct {
	replies []string
	next    atomic.Int64
}

// answer returns the recorded response of the next step.
func (r *recordingServer) answer(string) string {
	i := int(r.next.Add(1)) - 1
	if i >= len(r.replies) {
		return httpReply(500, "no more steps were recorded")
	}
	return r.replies[i]
}

// TestAllRecordingsReplay checks that all recordings pass against a server that replies
// with them.
func TestAllRecordingsReplay(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[Dialect]Summary{
		Magento:    {Passed: 589},
		Documented: {Passed: 674, LeftOut: 219},
		OpenMage:   {Passed: 588, LeftOut: 1},
	} {
		t.Run(string(dialect), func(t *testing.T) {
			cases := loaded(t, func() ([]Exchange, error) { return ExchangesIn(dialect) })
			var r recordingServer
			for _, c := range cases {
				if reason := (&session{target: Target{Dialect: dialect, Credentials: testCredentials}}).skipReason(&c); reason != "" {
					continue
				}
				for _, s := range c.Steps {
					r.replies = append(r.replies, renderRecording(t, dialect.expectedResponse(&s)))
				}
			}
			got := Replay(t, Target{BaseURL: serve(t, r.answer), Dialect: dialect, Credentials: testCredentials}, cases)
			if got != want {
				t.Errorf("summary %+v, want %+v", got, want)
			}
			if sent := int(r.next.Load()); sent != len(r.replies) {
				t.Errorf("%d requests, want %d", sent, len(r.replies))
			}
		})
	}
}

// step returns a step with a recorded status of 200 and a JSON body.
func step(method, path, body string) Step {
	return Step{As: Guest, Method: method, Path: path, Response: Response{Status: 200, ContentType: ptr(jsonType), Body: body}}
}

// TestReplayResets checks that the data set is reset before an exchange that starts from it and follows a write,
// even if one that goes on with it comes between them.
func TestReplayResets(t *testing.T) {
	var log []string
	base := serve(t, func(request string) string {
		line, _, _ := strings.Cut(request, " HTTP/")
		log = append(log, line)
		return httpReply(200, "[]", "Content-Type: "+jsonType)
	})
	read := func(name string) Exchange {
		return Exchange{File: "f", Name: name, Steps: []Step{step("GET", "/"+name, "[]")}}
	}
	write := func(method string) Exchange {
		return Exchange{File: "f", Name: method, Steps: []Step{step("GET", "/", "[]"), step(method, "/", "[]")}}
	}
	continues := read("goes-on")
	continues.Reset = new(bool)
	got := Replay(t, Target{BaseURL: base, Dialect: Magento, Reset: func(context.Context) error {
		log = append(log, "reset")
		return nil
	}}, []Exchange{read("a"), read("b"), write("POST"), read("c"), read("d"), write("PUT"), write("DELETE"), continues, write("FOO")})
	if got != (Summary{Passed: 9}) {
		t.Errorf("summary %+v, want 9 passed", got)
	}
	want := []string{
		"reset", "GET /api/rest/a", "GET /api/rest/b", "GET /api/rest/", "POST /api/rest/",
		"reset", "GET /api/rest/c", "GET /api/rest/d", "GET /api/rest/", "PUT /api/rest/",
		"reset", "GET /api/rest/", "DELETE /api/rest/",
		"GET /api/rest/goes-on",
		"reset", "GET /api/rest/", "FOO /api/rest/",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("resets and requests (-want +got):\n%s", diff)
	}
}

// TestReplayLeavesOut checks which exchanges are left out.
func TestReplayLeavesOut(t *testing.T) {
	base := serve(t, func(string) string { return httpReply(200, "[]", "Content-Type: "+jsonType) })
	cases := []Exchange{
		{File: "f", Name: "holds", Steps: []Step{step("GET", "/a", "[]")}},
		{File: "f", Name: "differs", Differs: "field list", Steps: []Step{step("GET", "/b", "[]")}},
		{File: "f", Name: "root", Differs: "root element only: x", Steps: []Step{step("GET", "/c", "[]")}},
		{File: "f", Name: "unable", Steps: []Step{step("GET", "/d", "[]"), step("GET", "/e", "[]")}},
	}
	skip := func(c Exchange, s Step) string {
		if c.Name == "unable" && s.Path == "/e" {
			return "the upstream has no such resource"
		}
		return ""
	}
	for dialect, want := range map[Dialect]Summary{
		Magento:    {Passed: 3, LeftOut: 1},
		Documented: {Passed: 2, LeftOut: 2},
	} {
		if got := Replay(t, Target{BaseURL: base, Dialect: dialect, Skip: skip}, cases); got != want {
			t.Errorf("%s: summary %+v, want %+v", dialect, got, want)
		}
	}
}

// TestReplayRenamesRoot checks that the XML root element of recordings is adapted to the
// documented dialect.
func TestReplayRenamesRoot(t *testing.T) {
	empty := func(root string) Response {
		return Response{Status: 200, ContentType: ptr(xmlType), Body: "<?xml version=\"1.0\"?>\n<" + root + "/>\n"}
	}
	full := func(root string) Response {
		return Response{Status: 200, ContentType: ptr(xmlType), Body: "<?xml version=\"1.0\"?>\n<" + root + ">\n  <id>1</id>\n</" + root + ">\n"}
	}
	for _, recorded := range []func(string) Response{empty, full} {
		s := Step{Response: recorded("magento_api")}
		if diff := cmp.Diff(recorded("service_api"), Documented.expectedResponse(&s)); diff != "" {
			t.Errorf("documented (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(recorded("magento_api"), Magento.expectedResponse(&s)); diff != "" {
			t.Errorf("magento (-want +got):\n%s", diff)
		}
	}
}

// TestReplayFails checks the output of failing replays, which run in a process of their
// own.
func TestReplayFails(t *testing.T) {
	if os.Getenv("CONTRACTTESTS_REPLAY") != "" {
		failingReplay(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestReplayFails$", "-test.v")
	cmd.Env = append(os.Environ(), "CONTRACTTESTS_REPLAY=fail")
	raw, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("error %v, want exit status 1:\n%s", err, raw)
	}
	out := string(raw)
	for _, want := range []string{
		"--- PASS: TestReplayFails/f.json/right",
		"--- FAIL: TestReplayFails/f.json/wrong",
		"--- FAIL: TestReplayFails/f.json/no_reply",
		"--- FAIL: TestReplayFails/f.json/no_reset",
		"f.json/wrong\n",
		"clause: Endpoints / Customers\n",
		"step 2\n",
		`curl -sS -i --path-as-is -g -X 'PUT' -H 'User-Agent:' -H 'Content-Type:' -H 'Accept;' -H "Authorization: $AUTHORIZATION_ADMIN" --data-raw 'it'\''s' 'http://127.0.0.1:`,
		"/api/rest/customers//1'\n",
		"status\n",
		`want "" » "200"`,
		`got  "" » "500"`,
		"$.name\n",
		`want "A" » "da"`,
		`got  "A" » "nna"`,
		"step 1\n",
		"no answer: ",
		"resetting the data set: disk full",
		"summary {Passed:1 Failed:3 LeftOut:0}",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report has no %q", want)
		}
	}
	for _, secret := range []string{testCredentials.Consumer.Secret, testCredentials.Admin.Secret} {
		if strings.Contains(out, secret) {
			t.Errorf("the report contains the secret %q", secret)
		}
	}
	if t.Failed() {
		t.Logf("report:\n%s", out)
	}
}

// failingReplay is the part of TestReplayFails that runs in that process.
func failingReplay(t *testing.T) {
	base := serve(t, func(request string) string {
		switch {
		case strings.Contains(request, "/silent"):
			return "nonsense\r\n\r\n"
		case strings.HasPrefix(request, "PUT"):
			return httpReply(500, `{"id":1,"name":"Anna"}`, "Content-Type: "+jsonType)
		}
		return httpReply(200, "[]", "Content-Type: "+jsonType)
	})
	put := step("PUT", "/customers//1", `{"name":"Ada","id":1}`)
	put.As, put.Accept, put.Body = Admin, ptr(""), ptr("it's")
	resets := 0
	sum := Replay(t, Target{BaseURL: base, Dialect: Magento, Credentials: testCredentials, Reset: func(context.Context) error {
		if resets++; resets == 3 {
			return errors.New("disk full")
		}
		return nil
	}}, []Exchange{
		{File: "f.json", Name: "right", Steps: []Step{step("GET", "/a", "[]")}},
		{File: "f.json", Name: "wrong", Clause: "Endpoints / Customers", Steps: []Step{step("GET", "/a", "[]"), put}},
		{File: "f.json", Name: "no reply", Steps: []Step{step("DELETE", "/silent", "[]"), step("GET", "/a", "[]")}},
		{File: "f.json", Name: "no reset", Steps: []Step{step("GET", "/a", "[]")}},
	})
	fmt.Printf("summary %+v\n", sum)
}

// TestReplayAcceptsUndefinedOrder checks that reorderLike adopts the order of a reply,
// and which paths are product lists of one category.
func TestReplayAcceptsUndefinedOrder(t *testing.T) {
	want := &Response{Body: `{"1":{"sku":"a"},"2":{"sku":"b"},"10":{"sku":"c"}}`}
	for _, c := range []struct{ name, got, want string }{
		{"by position", `{"10":{},"1":{},"2":{}}`, `{"10":{"sku":"c"},"1":{"sku":"a"},"2":{"sku":"b"}}`},
		{"an entry too few", `{"10":{},"2":{}}`, `{"1":{"sku":"a"},"10":{"sku":"c"},"2":{"sku":"b"}}`},
		{"no JSON", `<a/>`, want.Body},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := reorderLike(want, &reply{body: c.got}, anyOrder); got != c.want {
				t.Errorf("want %s, is %s", c.want, got)
			}
		})
	}
	for path, want := range map[string]bool{
		"/products?category_id=3": true, "/products?attrs=sku&category_id=3": true, "/products/category/3": true, "/products/store/2/category/3": true,
		"/products/category/3/store/2": true, "/products?attrs=category_id": false, "/products/1/categories": false, "/products": false,
	} {
		if got := isCategoryList(path); got != want {
			t.Errorf("%s: category list %t, want %t", path, got, want)
		}
	}
}

// TestReplayAll checks the results of passed, failed and skipped exchanges.
func TestReplayAll(t *testing.T) {
	exchanges := []Exchange{
		{File: "f.json", Name: "right", Clause: "a", Steps: []Step{step("GET", "/a", "[]")}},
		{File: "f.json", Name: "wrong", Clause: "b", Clauses: []string{"c", "d"}, Steps: []Step{step("GET", "/a", "[]"), step("PUT", "/b", "{}"), step("GET", "/c", "{}")}},
		{File: "f.json", Name: "differs", Clause: "e", Differs: "field list", Steps: []Step{step("GET", "/a", "[]")}},
		{File: "f.json", Name: "nobody", Clause: "f", Steps: []Step{{As: Customer2, Method: "GET", Response: Response{Status: 200}}}},
		{File: "f.json", Name: "broken", Clause: "g", Steps: []Step{step("GET", "/silent", "[]")}},
	}
	answer := func(request string) string {
		if strings.Contains(request, "/silent") {
			return "nonsense\r\n\r\n"
		}
		return httpReply(200, "[]", "Content-Type: "+jsonType)
	}
	target := Target{BaseURL: serve(t, answer), Dialect: Documented, Credentials: testCredentials}
	target.Credentials.Customer2 = Token{}
	var seen []string
	results, err := ReplayAll(t.Context(), target, exchanges, func(r *Result, done, total int) {
		seen = append(seen, fmt.Sprintf("%s %s %d/%d", r.ID(), r.Status, done, total))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"recorded/f/right/json passed 1/5", "documented/f/wrong/json failed 2/5", "recorded/f/differs/json skipped 3/5",
		"recorded/f/nobody/json skipped 4/5", "recorded/f/broken/json failed 5/5",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if f := results[1].Failure; f == nil || f.Step != 2 || f.Call != "guest: PUT /api/rest/b" || f.Clause != "c; d" || !strings.Contains(f.Expect, "status: 200\n") || len(f.Differences) == 0 {
		t.Errorf("failure %+v, want one of step 2", f)
	}
	if calls := results[1].Calls; len(calls) != 3 || results[0].Calls != nil || !strings.HasPrefix(calls[1].Request, "PUT /api/rest/b HTTP/1.1\r\n") || !strings.HasPrefix(calls[1].Reply, "200 OK\n") {
		t.Errorf("calls %+v, want three", calls)
	}
	for i, want := range map[int]string{2: "the recording does not hold in this dialect: field list", 3: "there are no credentials for customer_2"} {
		if results[i].Reason != want {
			t.Errorf("reason %q, want %q", results[i].Reason, want)
		}
	}
	if f := results[4].Failure; f == nil || !strings.HasPrefix(f.Broken, "no answer: ") {
		t.Errorf("failure %+v, want one without an answer", f)
	}
}

// TestReplayAllCanceled checks that ReplayAll ends with its context.
func TestReplayAllCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	base := serve(t, func(request string) string {
		if strings.Contains(request, "/b") {
			cancel()
		}
		return httpReply(200, "[]", "Content-Type: "+jsonType)
	})
	results, err := ReplayAll(ctx, Target{BaseURL: base, Dialect: Magento}, []Exchange{
		{File: "f", Name: "a", Steps: []Step{step("GET", "/a", "[]")}},
		{File: "f", Name: "b", Steps: []Step{step("GET", "/b", "[]")}},
		{File: "f", Name: "c", Steps: []Step{step("GET", "/c", "[]")}},
	}, nil)
	if !errors.Is(err, context.Canceled) || len(results) != 1 {
		t.Errorf("%d results and error %v, want one and the context's", len(results), err)
	}
}

// TestReplayAllStopsWithoutReplies checks that ReplayAll ends if the server stops
// replying.
func TestReplayAllStopsWithoutReplies(t *testing.T) {
	calls := 0
	base := serve(t, func(string) string {
		calls++
		return "nonsense\r\n\r\n"
	})
	var exchanges []Exchange
	for i := range 3 * maxUnanswered {
		exchanges = append(exchanges, Exchange{File: "f", Name: fmt.Sprint(i), Steps: []Step{step("GET", "/a", "[]")}})
	}
	results, err := ReplayAll(t.Context(), Target{BaseURL: base, Dialect: Magento}, exchanges, nil)
	if err == nil || !strings.Contains(err.Error(), "the server stopped answering: no answer: ") || len(results) != maxUnanswered || calls != maxUnanswered {
		t.Errorf("%d results of %d calls and error %v, want %d", len(results), calls, err, maxUnanswered)
	}
}

// TestReplayTimeout checks that Target.Timeout limits a request.
func TestReplayTimeout(t *testing.T) {
	ended := make(chan struct{})
	address := listenAndHandle(t, func(net.Conn) { <-ended })
	defer close(ended)
	target := Target{BaseURL: "http://" + address, Dialect: Magento, Timeout: time.Millisecond}
	results, err := ReplayAll(t.Context(), target, []Exchange{{File: "f", Name: "a", Steps: []Step{step("GET", "/a", "[]")}}}, nil)
	if err != nil || results[0].Status != Failed || !strings.Contains(results[0].Failure.Broken, "timeout") {
		t.Errorf("results %+v and error %v, want one that timed out", results, err)
	}
}

// TestCoverageOfExchanges checks that documented exchanges count for their clauses, and
// that the citations of recordings are ignored.
func TestCoverageOfExchanges(t *testing.T) {
	s := loaded(t, NewSuite)
	for _, c := range s.Coverage([]Result{
		{Status: Passed, Clauses: []string{"Errors: 404"}}, {Status: Failed, Clauses: []string{"Errors: 404"}},
		{Status: Skipped, Clauses: []string{"Errors: 404", "Endpoints rule 3"}},
	}) {
		want := 0
		if c.Clause == "Errors: 404" {
			want = 1
		}
		if c.Passed != want || c.Failed != want || c.Skipped != want {
			t.Errorf("%s: %+v, want %d of each", c.Clause, c, want)
		}
	}
}
