package reststore

import (
	"encoding/base64"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/portico-commerce/portico/adapter"
)

// kinds maps the kinds of a mapping file to error kinds.
var kinds = map[string]adapter.ErrorKind{
	"not_found":   adapter.NotFound,
	"conflict":    adapter.Conflict,
	"invalid":     adapter.Invalid,
	"unsupported": adapter.Unsupported,
	"unavailable": adapter.Unavailable,
	"internal":    adapter.Internal,
}

func (l *loader) loadConnection(n *yaml.Node) connection {
	f := l.fields(n, "connection", "auth", "headers", "ping", "limits", "retry", "errors")
	c := connection{auth: l.loadAuth(f["auth"]), headers: l.loadHeaders(f["headers"]), limits: l.loadLimits(f["limits"]), retry: l.loadRetry(f["retry"])}
	c.ping = l.loadRequest(f["ping"], "ping", http.MethodGet)
	for _, e := range l.list(f["errors"], "errors") {
		c.errors = append(c.errors, l.loadRule(e))
	}
	return c
}

// loadAuth loads the authentication method.
func (l *loader) loadAuth(n *yaml.Node) auth {
	f := l.fields(n, "auth", "basic", "bearer", "header", "login")
	if len(f) > 1 {
		l.errorf(n.Line, "auth must have at most one of basic, bearer, header, login")
	}
	switch {
	case f["basic"] != nil:
		b := l.fields(f["basic"], "basic", "user", "password")
		pair := l.expandSettings(b["user"], "user") + ":" + l.expandSettings(b["password"], "password")
		return auth{fixed: &header{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))}}
	case f["bearer"] != nil:
		return auth{fixed: l.newHeader("Authorization", "Bearer "+l.expandSettings(f["bearer"], "bearer"), f["bearer"])}
	case f["header"] != nil:
		h := l.fields(f["header"], "header", "name", "value")
		return auth{fixed: l.newHeader(l.scalar(h["name"], "name"), l.expandSettings(h["value"], "value"), f["header"])}
	case f["login"] != nil:
		return auth{login: l.loadLogin(f["login"])}
	}
	return auth{}
}

// expandSettings returns a string with $user and $secret replaced by their settings.
func (l *loader) expandSettings(n *yaml.Node, what string) string {
	text := l.scalar(n, what)
	for name, value := range map[string]string{"$user": l.user, "$secret": l.secret} {
		if strings.Contains(text, name) && value == "" {
			l.errorf(n.Line, "%s uses the setting rest.%s, which is empty", what, name[1:])
		}
	}
	return strings.NewReplacer("$user", l.user, "$secret", l.secret).Replace(text)
}

func (l *loader) newHeader(name, value string, n *yaml.Node) *header {
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		l.errorf(n.Line, "%.40q with this value is not a valid header", name)
	}
	return &header{name, value}
}

func (l *loader) loadLogin(n *yaml.Node) *login {
	f := l.fields(n, "login", "request", "token", "refresh", "header", "prefix")
	credentials := []string{"$user", "$secret"}
	in := &login{
		request: l.loadRequest(f["request"], "request", http.MethodPost, credentials...),
		token:   l.loadExpression(f["token"], "token"),
		refresh: l.duration(f["refresh"], "refresh", 0, time.Second, 30*24*time.Hour),
		header:  header{"Authorization", "Bearer "},
	}
	in.credentials = []any{l.user, l.secret}
	if name := l.scalar(f["header"], "header"); name != "" {
		in.header = *l.newHeader(name, "", f["header"])
	}
	if f["prefix"] != nil {
		in.header.value = l.scalar(f["prefix"], "prefix")
	}
	if in.request == nil || in.token == nil {
		l.errorf(n.Line, "login needs request, and token: an expression for the token in the response, such as .token")
	}
	return in
}

func (l *loader) loadHeaders(n *yaml.Node) []header {
	var all []header
	for _, e := range l.entries(n, "headers") {
		all = append(all, *l.newHeader(e.name, l.scalar(e.node, e.name), e.node))
	}
	return all
}

func (l *loader) loadLimits(n *yaml.Node) limits {
	f := l.fields(n, "limits", "response_bytes", "depth", "timeout", "in_flight")
	return limits{
		responseBytes: l.size(f["response_bytes"], "response_bytes", 16<<20),
		depth:         l.number(f["depth"], "depth", 64, 1, 1000),
		timeout:       l.duration(f["timeout"], "timeout", 10*time.Second, time.Millisecond, 10*time.Minute),
		inFlight:      l.number(f["in_flight"], "in_flight", 32, 1, 10_000),
	}
}

func (l *loader) loadRetry(n *yaml.Node) retry {
	f := l.fields(n, "retry", "attempts", "budget", "wait", "max_wait")
	r := retry{
		attempts: l.number(f["attempts"], "attempts", 3, 1, 10),
		budget:   0.1,
		wait:     l.duration(f["wait"], "wait", 50*time.Millisecond, time.Millisecond, time.Minute),
		maxWait:  l.duration(f["max_wait"], "max_wait", 2*time.Second, time.Millisecond, time.Minute),
	}
	if b := f["budget"]; b != nil {
		budget, err := strconv.ParseFloat(l.scalar(b, "budget"), 64)
		if err != nil || math.IsNaN(budget) || budget < 0 || budget > 1 {
			l.errorf(b.Line, "budget must be a number from 0 to 1: retries per request")
		}
		r.budget = budget
	}
	return r
}

// loadRule loads an error rule.
func (l *loader) loadRule(n *yaml.Node) rule {
	f := l.fields(n, "an error rule", "when", "kind", "field", "reason", "any_status")
	r := rule{
		when:      l.loadExpression(f["when"], "when"),
		field:     l.loadExpression(f["field"], "field"),
		reason:    l.loadExpression(f["reason"], "reason"),
		anyStatus: l.flag(f["any_status"], "any_status"),
	}
	if f["when"] == nil {
		l.errorf(n.Line, "an error rule needs when, such as .status == 404")
	}
	if word := l.scalar(f["kind"], "kind"); word != "" {
		if r.kind, r.hasKind = kinds[word]; !r.hasKind {
			l.errorf(f["kind"].Line, "kind %.40q is not one of %s", word, strings.Join(kindNames(), ", "))
		}
	}
	if r.anyStatus && !r.hasKind {
		l.errorf(n.Line, "an error rule with any_status needs kind")
	}
	return r
}

func kindNames() []string {
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// loadRequest loads a request whose method defaults to method.
func (l *loader) loadRequest(n *yaml.Node, what, method string, variables ...string) *request {
	if isNull(n) {
		return nil
	}
	return l.loadRequestFields(n, l.fields(n, what, requestFields...), method, variables)
}

// requestFields are the members that all requests share.
var requestFields = []string{"method", "path", "query", "headers", "body"}

// loadRequestFields loads a request from members f of node n, which may have other members, too.
func (l *loader) loadRequestFields(n *yaml.Node, f map[string]*yaml.Node, method string, variables []string) *request {
	r := &request{at: l.at(n.Line), method: method, headers: l.loadHeaders(f["headers"]), body: l.loadExpression(f["body"], "body", variables...)}
	if m := l.scalar(f["method"], "method"); m != "" {
		r.method = m
		if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, m) {
			l.errorf(f["method"].Line, "method must be GET, POST, PUT, PATCH or DELETE")
		}
	}
	if r.method == "" {
		l.errorf(n.Line, "method is missing: GET, POST, PUT, PATCH or DELETE")
	}
	if f["path"] == nil {
		l.errorf(n.Line, "path is missing")
	} else {
		r.path = l.loadTemplate(f["path"], variables)
	}
	for _, e := range l.entries(f["query"], "query") {
		if isNull(e.node) {
			l.errorf(e.line, "the parameter %.40q has no value: write an expression such as $since or '\"text\"'", e.name)
			continue
		}
		r.query = append(r.query, parameter{e.name, l.loadExpression(e.node, "a parameter", variables...)})
	}
	return r
}
