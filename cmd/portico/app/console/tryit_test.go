package console

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
)

// TestTry: a call is sent as chosen; calls on behalf of a consumer need permission and are logged.
func TestTry(t *testing.T) {
	t.Parallel()
	grants := []adapter.Grant{{Consumer: adapter.Consumer{Name: "ERP", Key: "consumerkey"}, Tokens: []adapter.Token{
		{Token: "tokentext-1", AdminID: 1, Type: adapter.AccessToken}, {Token: "revoked", AdminID: 1, Type: adapter.AccessToken, Revoked: true}, {Token: "request", Type: adapter.RequestToken},
	}}}
	newTrySite := func(impersonate bool) (*site, *TryRequest) {
		sent := &TryRequest{}
		return newSite(t, func(o *Options) {
			o.Credentials.Consumers = func(context.Context) ([]adapter.Grant, error) { return grants, nil }
			o.Try.Impersonate = impersonate
			o.Try.Calls = append(o.Try.Calls, TryCall{Name: "updateStock", Method: "PUT", Path: "/api/rest/stockitems"})
			o.Try.Send = func(_ context.Context, r TryRequest) (*TryAnswer, error) {
				*sent = r
				answer := &TryAnswer{Status: 200, Header: []string{"X-A: b"}, Body: "<script>", Cut: true}
				if r.Token != "" {
					answer.Authorization = "OAuth fresh"
				}
				return answer, nil
			}
		}), sent
	}
	s, sent := newTrySite(true)
	for _, tt := range []struct {
		name   string
		form   url.Values
		status int
		want   TryRequest
		texts  []string
	}{
		{"Guest", url.Values{"call": {"getProduct"}, "param-id": {"a/b"}, "caller": {"guest"}, "accept": {"application/json"}, "query": {"?limit=2"}}, 200,
			TryRequest{Method: "GET", Base: "http://contract.example", Target: "/api/rest/products/a%2Fb?limit=2", Accept: "application/json"},
			[]string{"&lt;script&gt;", "X-A: b", "curl -g -i -H &#39;Accept: application/json&#39; &#39;http://contract.example/api/rest/products/a%2Fb?limit=2&#39;"}},
		{"caller", url.Values{"call": {"updateStock"}, "caller": {"consumerkey tokentext-1"}, "accept": {"text/xml"}, "body": {" <r/>"}}, 200,
			TryRequest{Method: "PUT", Base: "http://contract.example", Target: "/api/rest/stockitems", Accept: "text/xml", ContentType: "text/xml", Body: " <r/>", Consumer: "consumerkey", Token: "tokentext-1"},
			[]string{"Authorization: OAuth fresh", "-X PUT"}},
		{"no parameter", url.Values{"call": {"getProduct"}, "caller": {"guest"}, "accept": {"*/*"}}, 422, TryRequest{}, []string{"Give a value for id."}},
		{"bad query", url.Values{"call": {"getProduct"}, "param-id": {"1"}, "caller": {"guest"}, "accept": {"*/*"}, "query": {"a b"}}, 422, TryRequest{}, []string{"must be escaped"}},
		{"bad format", url.Values{"call": {"updateStock"}, "caller": {"guest"}, "accept": {"a\r\nb"}}, 422, TryRequest{}, []string{"one of the formats"}},
	} {
		*sent = TryRequest{}
		got := s.submit(tryPath, tryPath, tt.form)
		if got.StatusCode != tt.status || *sent != tt.want {
			t.Errorf("%s: %d, sent %+v", tt.name, got.StatusCode, *sent)
		}
		for _, text := range tt.texts {
			if !strings.Contains(got.text, text) {
				t.Errorf("%s: no %q in\n%s", tt.name, text, got.text)
			}
		}
	}
	if log := s.log.String(); strings.Count(log, "msg=audit") != 1 || !strings.Contains(log, "token=tokentex\n") || strings.Contains(log, "tokentext-1") {
		t.Errorf("log:\n%s", log)
	}
	if page := s.get(tryPath + "?search=er").text; !strings.Contains(page, "ERP, admin 1") || strings.Contains(page, "revoked") || strings.Contains(page, `value="consumerkey request"`) {
		t.Errorf("callers to choose from:\n%s", page)
	}

	s, sent = newTrySite(false)
	got := s.submit(tryPath, tryPath, url.Values{"call": {"getProduct"}, "param-id": {"1"}, "caller": {"consumerkey tokentext-1"}, "accept": {"*/*"}})
	if got.StatusCode != http.StatusUnprocessableEntity || sent.Method != "" || !strings.Contains(got.text, "ops.console_impersonate") || strings.Contains(s.get(tryPath).text, "ERP") {
		t.Errorf("without permission: %d, sent %+v", got.StatusCode, sent)
	}
}

// TestQuote: a shell reads a quoted text unchanged.
func TestQuote(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a b", `it's $HOME "x" \`, "`id`;\n&"} {
		got, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+quote(text)).Output()
		if err != nil || string(got) != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"a\r\nb", "\u202eabc'\\x41\u200b1", "\x1b[31m $HOME `id`"} {
		line := quote(text)
		got, err := exec.CommandContext(t.Context(), "bash", "-c", "printf %s "+line).Output()
		if err != nil || string(got) != text || strings.ContainsFunc(line, isInvisible) {
			t.Errorf("%q as %s: %q, %v", text, line, got, err)
		}
	}
}
