package apptest

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Reply is a reply whose body has been read.
type Reply struct {
	Status int
	Header http.Header
	Body   string
	Closes bool // has the header Connection: close
}

// Send sends one request over its own connection. headers alternates names and values. A header
// without a value is not sent, and Host replaces the host of the URL.
func Send(t testing.TB, method, url, body string, headers ...string) Reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	for i := 0; i+1 < len(headers); i += 2 {
		switch name, value := headers[i], headers[i+1]; {
		case name == "Host":
			request.Host = value
		case value != "":
			request.Header.Set(name, value)
		}
	}
	transport := &http.Transport{DisableCompression: true}
	response, err := (&http.Client{Transport: transport, Timeout: WaitTimeout}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return ReadReply(t, response)
}

// ReadReply reads the body of a response.
func ReadReply(t testing.TB, response *http.Response) Reply {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return Reply{Status: response.StatusCode, Header: response.Header, Body: string(body), Closes: response.Close}
}

// PlaintextHeader returns the Authorization header of a consumer and a token, with the
// method PLAINTEXT.
func PlaintextHeader(key, secret, token, tokenSecret string) string {
	return `OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="` + key +
		`", oauth_token="` + token + `", oauth_signature="` + secret + "%26" + tokenSecret + `"`
}

// DemoAdmin returns the Authorization header of the demo store's administrator.
func DemoAdmin() string {
	of := func(letter string) string { return strings.Repeat(letter, 32) }
	return PlaintextHeader(of("a"), of("b"), of("c"), of("d"))
}

// StockQty returns the quantity of stock item 1 as the API shows it.
func StockQty(t testing.TB, base, authorization string) string {
	t.Helper()
	got := Send(t, "GET", base+"/api/rest/stockitems/1", "", "Accept", "text/plain", "Authorization", authorization)
	if got.Status != http.StatusOK {
		t.Fatalf("stock item 1: %d %s", got.Status, got.Body)
	}
	_, rest, _ := strings.Cut(got.Body, "&qty=")
	qty, _, _ := strings.Cut(rest, "&")
	return qty
}

// SignedHeader returns the Authorization header of the demo store's administrator for one
// call without a query, signed with HMAC-SHA1 (wire 12).
func SignedHeader(method, address, nonce string) string {
	of := func(letter string) string { return strings.Repeat(letter, 32) }
	parameters := url.Values{
		"oauth_consumer_key": {of("a")}, "oauth_token": {of("c")}, "oauth_signature_method": {"HMAC-SHA1"}, "oauth_version": {"1.0"},
		"oauth_nonce": {nonce}, "oauth_timestamp": {strconv.FormatInt(time.Now().Unix(), 10)},
	}
	base := method + "&" + url.QueryEscape(address) + "&" + url.QueryEscape(parameters.Encode())
	mac := hmac.New(sha1.New, []byte(of("b")+"&"+of("d")))
	mac.Write([]byte(base))
	parameters.Set("oauth_signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return "OAuth " + strings.ReplaceAll(parameters.Encode(), "&", ", ")
}

// A Client calls a server as one caller over persistent connections. Unlike Send it is safe for
// concurrent use, and returns errors, so that tests can kill the server.
type Client struct {
	Base, Authorization string // authorization is "" for a Guest
	HTTP                http.Client
}

// NewClient returns a client for the server at base. An empty authorization calls as a
// Guest.
func NewClient(t testing.TB, base, authorization string) *Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 50}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{Base: base, Authorization: authorization, HTTP: http.Client{Transport: transport, Timeout: WaitTimeout}}
}

// Call sends one request, with JSON in both directions, and reads the whole reply. path is
// below /api/rest, or a URL.
func (c *Client) Call(ctx context.Context, method, path, body string) (Reply, error) {
	if strings.HasPrefix(path, "/") {
		path = c.Base + "/api/rest" + path
	}
	request, err := http.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if c.Authorization != "" {
		request.Header.Set("Authorization", c.Authorization)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return Reply{}, err
	}
	content, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return Reply{}, err
	}
	return Reply{Status: response.StatusCode, Header: response.Header, Body: string(content), Closes: response.Close}, nil
}

// Get reads path from a server that must answer.
func (c *Client) Get(t testing.TB, path string) Reply {
	t.Helper()
	got, err := c.Call(t.Context(), http.MethodGet, path, "")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Read decodes the record at path, which must exist, into into.
func (c *Client) Read(t testing.TB, path string, into any) {
	t.Helper()
	got := c.Get(t, path)
	if got.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, got.Status, got.Body)
	}
	Parse(t, got.Body, into)
}

// ProxyTo returns a proxy that forwards requests unchanged to the server at base. If that does not
// answer, the proxy answers with 502 and the reason, and logs nothing.
func ProxyTo(t testing.TB, base string) *httputil.ReverseProxy {
	t.Helper()
	to, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil {
		t.Fatal(err)
	}
	// A transport of its own: each test server that ends closes the idle connections of the common one.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{Transport: transport, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, "the proxy of the test: "+err.Error(), http.StatusBadGateway)
	}, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		p.Out.Host = p.In.Host // which is signed
	}}
}
