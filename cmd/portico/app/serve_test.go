package app

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/contracttests/programs"
)

// A reply is a reply whose body has been read.
type reply struct {
	status int
	header http.Header
	body   string
	closes bool // has the header Connection: close
}

// send sends one request over its own connection. headers has names and values in turn.
func send(t testing.TB, method, url, body string, headers ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableCompression: true}
	response, err := (&http.Client{Transport: transport, Timeout: waitTimeout}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return readReply(t, response)
}

// readReply reads the body of a response.
func readReply(t testing.TB, response *http.Response) reply {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return reply{status: response.StatusCode, header: response.Header, body: string(body), closes: response.Close}
}

// plaintextHeader returns the Authorization header of a consumer and a token, with the
// method PLAINTEXT.
func plaintextHeader(key, secret, token, tokenSecret string) string {
	return `OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="` + key +
		`", oauth_token="` + token + `", oauth_signature="` + secret + "%26" + tokenSecret + `"`
}

// demoAdmin returns the Authorization header of the demo store's administrator.
func demoAdmin() string {
	of := func(letter string) string { return strings.Repeat(letter, 32) }
	return plaintextHeader(of("a"), of("b"), of("c"), of("d"))
}

// stockQty returns the quantity of stock item 1 as the API shows it.
func stockQty(t testing.TB, base, authorization string) string {
	t.Helper()
	got := send(t, "GET", base+"/api/rest/stockitems/1", "", "Accept", "text/plain", "Authorization", authorization)
	if got.status != http.StatusOK {
		t.Fatalf("stock item 1: %d %s", got.status, got.body)
	}
	_, rest, _ := strings.Cut(got.body, "&qty=")
	qty, _, _ := strings.Cut(rest, "&")
	return qty
}

// TestDemoCurlLines runs the example commands that the demo store prints, and checks that the
// first needs no credentials and that no line is long.
func TestDemoCurlLines(t *testing.T) {
	programs.Need(t, "curl")
	tests := []struct {
		name      string
		arguments []string
		environ   []string
		root      string // of XML
		hint      bool   // whether the output mentions the other dialect
	}{
		{name: "documented", root: "service_api", hint: true},
		{name: "magento", arguments: []string{"--dialect", "magento"}, root: "magento_api"},
		{name: "token of the operators' port", environ: []string{"PORTICO_OPS_TOKEN=" + opsToken}, root: "service_api", hint: true},
		{name: "every interface", arguments: []string{"--listen", "0.0.0.0:0", "--demo-public"}, root: "service_api", hint: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, tt.environ, append([]string{"--demo"}, tt.arguments...)...)
			printed := p.stdout.text()
			for line := range strings.Lines(printed) {
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 100 {
					t.Errorf("longer than 100 characters: %s", line)
				}
			}
			examples := printedExamples(printed)
			if len(examples) != 3 {
				t.Fatalf("%d examples, want 3:\n%s", len(examples), printed)
			}
			guest, console := strings.Index(printed, examples[0]), strings.Index(printed, "\n  console     "+p.ops+"/\n")
			if guest < 0 || console < guest || strings.Index(printed, "contract ") < console || strings.Index(printed, "secret") < console {
				t.Errorf("a Guest's call and the console do not come first:\n%s", printed)
			}
			before := stockQty(t, p.contract, demoAdmin())
			if got := shell(t, tt.environ, examples[0]); strings.Count(got, `"sku":`) != 2 {
				t.Errorf("the first example is answered by\n%s", got)
			}
			if got := shell(t, tt.environ, examples[1]); strings.Count(got, `"item_id":`) != 2 || !strings.Contains(got, "<"+tt.root+">\n  <success>") || !strings.Contains(got, "Resource updated successful.") {
				t.Errorf("the second example is answered by\n%s", got)
			}
			if got := stockQty(t, p.contract, demoAdmin()); got != "5.0000" || got == before {
				t.Errorf("after the second example there are %s, want 5.0000; before it there were %s", got, before)
			}
			if got := shell(t, tt.environ, examples[2]); !strings.HasPrefix(got, "reset in ") {
				t.Errorf("the third example is answered by\n%s", got)
			}
			if got := stockQty(t, p.contract, demoAdmin()); got != before {
				t.Errorf("after the reset there are %s, want %s", got, before)
			}
			p.stop(t)
			said := p.stdout.text()
			if hint := strings.Contains(said, "start with --dialect magento"); hint != tt.hint {
				t.Errorf("hint at --dialect magento: %t, want %t, in\n%s", hint, tt.hint, said)
			}
			for _, credential := range strings.Split("abcdef12", "") {
				if !strings.Contains(said, " "+strings.Repeat(credential, 32)) {
					t.Errorf("the demo credential %s… is not printed", credential)
				}
			}
			if strings.Contains(said+p.stderr.text(), opsToken) {
				t.Error("the token of the operators' port is printed")
			}
		})
	}
}

// TestDemoWithoutPlaintext checks that the printed example commands work if PLAINTEXT is
// refused, too.
func TestDemoWithoutPlaintext(t *testing.T) {
	programs.Need(t, "curl")
	p := start(t, []string{"PORTICO_AUTH_REFUSE_PLAINTEXT=true"}, "--demo")
	got := send(t, "GET", p.contract+"/api/rest/stockitems/1", "", "Accept", "application/json", "Authorization", demoAdmin())
	if got.status != http.StatusUnauthorized || !strings.Contains(got.body, `"oauth_problem=signature_method_rejected"`) {
		t.Errorf("PLAINTEXT is answered %d %s", got.status, got.body)
	}
	examples := printedExamples(p.stdout.text())
	if len(examples) != 2 {
		t.Fatalf("%d examples, want 2:\n%s", len(examples), p.stdout.text())
	}
	if got := shell(t, nil, examples[0]); strings.Count(got, `"sku":`) != 2 {
		t.Errorf("the first example is answered by\n%s", got)
	}
	if got := shell(t, nil, examples[1]); !strings.HasPrefix(got, "reset in ") {
		t.Errorf("the second example is answered by\n%s", got)
	}
}

// printedExamples returns the commands that the demo store prints, those of each paragraph as
// they stand there.
func printedExamples(printed string) []string {
	var examples []string
	for paragraph := range strings.SplitSeq(printed, "\n\n") {
		if _, commands, _ := strings.Cut(paragraph, ":\n"); strings.HasPrefix(commands, "  curl ") || strings.HasPrefix(commands, "  me=") {
			examples = append(examples, commands)
		}
	}
	return examples
}

// shell runs a command line and returns its output.
func shell(t *testing.T, environ []string, line string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Env = append(append(os.Environ(), "NO_PROXY=*"), environ...)
	got, err := command.Output()
	if err != nil {
		t.Fatalf("%s\n%v", line, err)
	}
	return string(got)
}

// TestDemoLeavesNothing checks that the demo store removes its temporary files at the end.
func TestDemoLeavesNothing(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, nil, "--demo")
			made, err := filepath.Glob(filepath.Join(p.temporary, "*"))
			if err != nil || len(made) != 1 {
				t.Fatalf("%d temporary folders, want 1 (%v)", len(made), err)
			}
			if info, err := os.Stat(made[0]); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode %v (%v), want one for the owner alone", info.Mode(), err)
			}
			p.signal(t, signal)
			if code := p.wait(t); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			if left, err := os.ReadDir(p.temporary); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
			if left, err := os.ReadDir(p.cmd.Dir); err != nil || len(left) > 0 {
				t.Errorf("left behind where it was started: %v (%v)", left, err)
			}
		})
	}
}

// A slowPut is an update whose body has been sent in part. The server is waiting for the
// rest.
type slowPut struct {
	conn net.Conn
	in   *bufio.Reader
	rest string
}

// beginPut starts an update of the quantity of stock item 1 to 77.
func beginPut(t *testing.T, p *process) *slowPut {
	t.Helper()
	address := strings.TrimPrefix(p.contract, "http://")
	conn, err := net.DialTimeout("tcp", address, waitTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		t.Fatal(err)
	}
	put := &slowPut{conn: conn, in: bufio.NewReader(conn), rest: `:"77"}`}
	const begun = `{"qty"`
	put.write(t, "PUT /api/rest/stockitems/1 HTTP/1.1\r\nHost: "+address+"\r\nAccept: application/json\r\nContent-Type: application/json\r\n"+
		"Expect: 100-continue\r\nContent-Length: 12\r\nAuthorization: "+demoAdmin()+"\r\n\r\n")
	// The server asks for the body once the handler reads it.
	if line, err := put.in.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q (%v)", line, err)
	}
	if _, err := put.in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	put.write(t, begun)
	return put
}

// write sends another part of the request.
func (put *slowPut) write(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(put.conn, text); err != nil {
		t.Fatal(err)
	}
}

// TestGracefulStop ends the program while a client has sent only half of a request. The
// program must wait for the other half, and answer.
func TestGracefulStop(t *testing.T) {
	p := start(t, nil, "--demo")
	if got := send(t, "GET", p.ops+"/readyz", ""); got.status != http.StatusOK || got.body != "ready\n" {
		t.Errorf("before: /readyz answers %d %q", got.status, got.body)
	}
	put := beginPut(t, p)
	p.signal(t, syscall.SIGTERM)
	p.stderr.await(t, p, "msg=stopping")

	if got := send(t, "GET", p.ops+"/readyz", ""); got.status != http.StatusServiceUnavailable || got.body != "draining\n" {
		t.Errorf("while it drains: /readyz answers %d %q", got.status, got.body)
	}
	if got := send(t, "GET", p.ops+"/healthz", ""); got.status != http.StatusOK {
		t.Errorf("while it drains: /healthz answers %d", got.status)
	}
	for began := time.Now(); ; { // until the port is closed to others
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.contract, "http://"), waitTimeout)
		if err != nil {
			break
		}
		_ = conn.Close()
		if time.Since(began) > waitTimeout {
			t.Fatal("while it drains, the program takes new connections")
		}
	}

	put.write(t, put.rest)
	response, err := http.ReadResponse(put.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := readReply(t, response); got.status != http.StatusOK || got.body != "" {
		t.Errorf("the request in flight is answered %d %q, want 200", got.status, got.body)
	}
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if left, err := os.ReadDir(p.temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// TestStopDoesNotWaitForever checks that the program ends after server.shutdown_timeout
// although the body of a request is never completed.
func TestStopDoesNotWaitForever(t *testing.T) {
	p := start(t, []string{"PORTICO_SERVER_SHUTDOWN_TIMEOUT=20ms"}, "--demo")
	beginPut(t, p)
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if said := p.stderr.text(); !strings.Contains(said, "server.shutdown_timeout") || strings.Contains(said, "panic") {
		t.Errorf("stderr:\n%s", said)
	}
	if left, err := os.ReadDir(p.temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// TestLogFormats checks the log line of a call in each format.
func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{"json": `"msg":"request","request_id":"order-17","call":"getStockItem"`, "text": "msg=request request_id=order-17 call=getStockItem"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p := start(t, nil, "--demo", "--log-format", format)
			send(t, "GET", p.contract+"/api/rest/stockitems/1", "", "Accept", "application/json", "Authorization", demoAdmin(), "X-Request-Id", "order-17")
			var cached []string
			for _, id := range []string{"guest-1", "guest-2"} {
				r := send(t, "GET", p.contract+"/api/rest/products/1", "", "Accept", "application/json", "X-Request-Id", id)
				cached = append(cached, id+".*cache\\W+"+r.header.Get("X-Cache"))
			}
			p.stop(t)
			said := p.stderr.text()
			for _, line := range []string{"started", "stopping"} {
				if !regexp.MustCompile(`msg\W+` + line + `\W+version\W+\S+\W+dialect\W+documented\W+adapter\W+sql\W+database\W+temporary\b`).MatchString(said) {
					t.Errorf("no line %q in\n%s", line, said)
				}
			}
			if !strings.Contains(said, want) {
				t.Errorf("no %q in\n%s", want, said)
			}
			if !regexp.MustCompile(strings.Join(cached, `\b.*\n.*`)).MatchString(said) || strings.HasSuffix(cached[1], "MISS") {
				t.Errorf("no %q in\n%s", cached, said)
			}
		})
	}
	t.Run("nothing below the level", func(t *testing.T) {
		t.Parallel()
		p := start(t, nil, "--demo", "--log-level", "error")
		stockQty(t, p.contract, demoAdmin())
		p.stop(t)
		if said := p.stderr.text(); said != "" {
			t.Errorf("logged:\n%s", said)
		}
	})
}
