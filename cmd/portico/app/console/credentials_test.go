package console

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// manyGrants returns the given number of consumers with one token each, except the first, which has
// many.
func manyGrants(n int) (grants []adapter.Grant) {
	for i := range n {
		g := adapter.Grant{Consumer: adapter.Consumer{Name: fmt.Sprintf("Program <%d>", i), Key: fmt.Sprintf("%032d", i)}}
		for j := range 1 + max(0, 30-30*i) {
			g.Tokens = append(g.Tokens, adapter.Token{Token: fmt.Sprintf("t%031d", j), AdminID: 7, CreatedAt: time.Unix(0, 0), Revoked: j == 29})
		}
		grants = append(grants, g)
	}
	return grants
}

// TestCredentialLists: the lists are paged and searched, without secrets.
func TestCredentialLists(t *testing.T) {
	t.Parallel()
	grants := manyGrants(5000)
	s := newSite(t, func(o *Options) {
		o.Credentials = Credentials{
			Consumers: func(context.Context) ([]adapter.Grant, error) { return grants, nil },
			Keys: func(context.Context) ([]adapter.APIKey, error) {
				return []adapter.APIKey{{ID: 1, Name: "probe", Kind: adapter.AdminKey}, {ID: 2, Name: "app", Kind: adapter.CustomerKey, CustomerID: 5, Revoked: true}}, nil
			},
			Admins: func(context.Context) ([]Admin, error) {
				return []Admin{{ID: 1, Username: "erp", LogsIn: true}, {ID: 2, Username: "old", Disabled: true}}, nil
			},
			BearerOff: true,
		}
	})
	for query, want := range map[string][]string{
		"":                       {"1 to 50 of 5000", "Program &lt;0&gt;", "The last 10 of 31.", `admin 7, <span class="when">1970-01-01`, "revoked"},
		"?page=100":              {"4951 to 5000 of 5000"},
		"?search=program+%3C77":  {"Program &lt;77&gt;", "Program &lt;770&gt;"},
		"?search=zzz":            {"No program is like that."},
		"?for=%22x":              {`value="&#34;x"`},
		"?list=keys":             {"probe", "customer 5", "accepts no API keys", `name="key" value="1"`},
		"?list=admins":           {"erp", "disabled", `action="/console/credentials/enable-admin"`},
		"?list=admins&search=ol": {"old"},
		"?list=nothing":          {"1 to 50 of 5000"},
	} {
		got := s.get(credentialsPath + query)
		for _, text := range want {
			if got.StatusCode != http.StatusOK || !strings.Contains(got.text, text) {
				t.Errorf("%q: %d, no %q", query, got.StatusCode, text)
			}
		}
	}
}

// TestCredentialForms: an incomplete form names the missing field, and a refusal is shown
// unchanged; neither changes anything.
func TestCredentialForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *Options) {
		o.Credentials.Consumers = func(context.Context) ([]adapter.Grant, error) { return nil, nil }
		o.Credentials.AddConsumer = func(_ context.Context, _, callback string) (adapter.Consumer, error) {
			if callback != "" {
				return adapter.Consumer{}, Refusal("a <callback> must be a URL")
			}
			return adapter.Consumer{}, fmt.Errorf("the database at %s is away", "secret-host")
		}
	})
	for _, tt := range []struct {
		name, path string
		form       url.Values
		status     int
		want       string
	}{
		{"no name", "/add-consumer", url.Values{"name": {" "}}, 422, "Give the program a name."},
		{"refused", "/add-consumer", url.Values{"name": {"a"}, "callback": {"x"}}, 422, "a &lt;callback&gt; must be a URL"},
		{"failed", "/add-consumer", url.Values{"name": {"a"}}, 500, "The log says why."},
		{"no program", "/add-token", url.Values{"id": {"1"}}, 422, "Give the key of the program."},
		{"no id", "/add-token", url.Values{"consumer": {"a"}}, 422, "Give the id as a positive number."},
		{"negative id", "/add-token", url.Values{"consumer": {"a"}, "id": {"-1"}}, 422, "Give the id"},
		{"no customer", "/add-key", url.Values{"name": {"a"}, "as": {"customer"}}, 422, "Give the id"},
		{"no key", "/revoke-key", url.Values{"key": {"x"}}, 422, "Give the id"},
		{"no username", "/add-admin", url.Values{"password": {"long enough"}}, 422, "Give the administrator a name."},
	} {
		got := s.submit(credentialsPath, credentialsPath+tt.path, tt.form)
		if got.StatusCode != tt.status || !strings.Contains(got.text, tt.want) || strings.Contains(got.text, "secret-host") {
			t.Errorf("%s: %d %s", tt.name, got.StatusCode, got.text)
		}
	}
	if log := s.log.String(); strings.Contains(log, "audit") || !strings.Contains(log, "secret-host") {
		t.Errorf("log:\n%s", log)
	}
}

// BenchmarkCredentials: the pages of 5,000 consumers.
func BenchmarkCredentials(b *testing.B) {
	grants := manyGrants(5000)
	s := newSite(b, func(o *Options) {
		o.Credentials.Consumers = func(context.Context) ([]adapter.Grant, error) { return grants, nil }
	})
	for _, query := range []string{"", "?page=100", "?search=program"} {
		b.Run("credentials"+query, func(b *testing.B) { benchmarkPage(b, s.console, credentialsPath+query) })
	}
}
