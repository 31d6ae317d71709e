package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Callers has the functions that supply the page of the callers.
type Callers struct {
	// Load returns the clients with the calls that they make.
	Load func(context.Context) (*CallerReport, error)
	// Refused returns the latest calls whose credentials were refused, the last first.
	Refused func() []RefusedCall
}

// A CallerReport lists the clients and their calls, from the counts of all processes.
type CallerReport struct {
	// Missing is the reason why there are no counts, with the remedy; "" if there are counts.
	Missing string
	Callers []Caller
}

// A Caller is a consumer, or Guests.
type Caller struct {
	Key   string   // the beginning of its key, or guest, unnamed or other
	Names []string // of the registered programs whose key begins so
	Usage
	Calls []CallUsage
}

// A CallUsage counts the requests of a caller for one call.
type CallUsage struct {
	Call string
	Usage
}

// A Usage counts requests. It may be zero.
type Usage struct {
	Requests int64
	Refused  int64 // of the requests: status 4xx
	Failed   int64 // status 5xx, or no reply
	Legacy   int64 // answered by the legacy store
	// Formats and Agents have the names of formats and programs, the most frequent first.
	Formats, Agents []string
	First, Last     time.Time
}

// A RefusedCall is a call whose credentials were refused.
type RefusedCall struct {
	Time     time.Time
	Consumer string // that it claims to be from, as counts name it
	Call     string
	Method   string
	Path     string // without the query
	Agent    string // program
	Client   string // network address
	Problem  string // of OAuth
}

const callersPath = "/console/callers"

// A callersPage is the data of the page: all callers, or one with its calls.
type callersPage struct {
	Missing string
	Search  string
	Callers []Caller
	Pager   pager
	One     *Caller
	Refused []RefusedCall
	Why     map[string]string // meanings by problem
}

func (v *visit) showCallers() error {
	report, err := v.Callers.Load(v.r.Context())
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	p := callersPage{Missing: report.Missing, Search: query.Get("search"), Why: problemMeanings()}
	p.Refused = v.Callers.Refused()
	if key := query.Get("caller"); key != "" {
		at := slices.IndexFunc(report.Callers, func(c Caller) bool { return c.Key == key })
		if at < 0 {
			return Refusal("There is no caller of that key.")
		}
		p.One = &report.Callers[at]
		p.Refused = selected(p.Refused, func(r *RefusedCall) bool { return r.Consumer == key })
		return v.show(http.StatusOK, "callers", "Caller "+cmp.Or(strings.Join(p.One.Names, ", "), key), p)
	}
	search := strings.ToLower(p.Search)
	found := selected(report.Callers, func(c *Caller) bool {
		return search == "" || strings.Contains(strings.ToLower(c.Key+"\n"+strings.Join(c.Names, "\n")+"\n"+strings.Join(c.Agents, "\n")), search)
	})
	slices.SortFunc(found, func(a, b Caller) int { return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Key, b.Key)) })
	p.Callers, p.Pager = paginate(v, found)
	return v.show(http.StatusOK, "callers", "Callers", p)
}

// Link returns the address of a caller's page.
func (c Caller) Link() string { return callersPath + "?" + url.Values{"caller": {c.Key}}.Encode() }

// problemMeanings returns explanations of the OAuth problems, with the party that has to act.
func problemMeanings() map[string]string {
	return map[string]string{
		"version_rejected":          "The client names another version of OAuth than 1.0.",
		"parameter_absent":          "The client left out a parameter of OAuth.",
		"parameter_rejected":        "The client sent a parameter twice, or one that OAuth does not have.",
		"timestamp_refused":         "The timestamp is missing, in the future or too old: check the client's clock.",
		"nonce_used":                "The same nonce was used before: the client repeats a request, or somebody else does.",
		"consumer_key_rejected":     "No consumer has this key: register the program, or import the credentials of the legacy store.",
		"signature_invalid":         "The signature is not that of the request: a wrong secret, or a proxy that changes scheme, host, path or query.",
		"signature_method_rejected": "The client signs with a method that is not allowed.",
		"token_rejected":            "No token, or API key, is like this one.",
		"token_revoked":             "The token was revoked: give the program another one.",
		"token_used":                "A request token was used a second time.",
		"verifier_invalid":          "The verifier is not that of the token.",
		"internal_error":            "The credentials are inconsistent; the log has more.",
	}
}
