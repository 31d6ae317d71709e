package recording

import (
	"cmp"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Kinds of requests outside the interface, by their paths. Portico serves [OAuth] and [Media]; all
// others need the legacy store.
const (
	SOAP       = "soap" // /api/soap, /api/v2_soap, and other paths below /api
	XMLRPC     = "xmlrpc"
	OAuth      = "oauth" // tokens, and the pages on which users consent
	Media      = "media" // images
	Admin      = "admin" // the admin panel, under its usual path
	Storefront = "storefront"
)

// OutsideKinds returns all kinds of requests outside the interface.
func OutsideKinds() []string { return []string{SOAP, XMLRPC, OAuth, Media, Admin, Storefront} }

// An OutsideCaller is the combination of properties by which requests outside the interface
// are counted.
type OutsideCaller struct {
	Kind  string `json:"kind"`
	Agent string `json:"agent"` // first product of its User-Agent
	Side  string `json:"side"`  // the system that answered: "portico" or "legacy"
}

// An OutsideRow counts the requests of one such caller.
type OutsideRow struct {
	OutsideCaller
	Count   int64     `json:"count"`
	Refused int64     `json:"refused"` // of them: status 4xx
	Failed  int64     `json:"failed"`  // status 5xx, or no reply
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// maxOutsideAgents is the maximum number of agents of one kind; others are counted as "other".
// Each kind has its own, because anyone can call the storefront under any name.
const maxOutsideAgents = 100

// addOutside adds a row to the counts.
func (u *Usage) addOutside(row *OutsideRow) {
	if u.outside == nil {
		u.outside, u.outsideAgents = map[OutsideCaller]*OutsideRow{}, map[string]map[string]bool{}
	}
	who := row.OutsideCaller
	if !slices.Contains(OutsideKinds(), who.Kind) {
		who.Kind = Storefront
	}
	if who.Side != portico {
		who.Side = legacy
	}
	agents := u.outsideAgents[who.Kind]
	if agents == nil {
		agents = map[string]bool{}
		u.outsideAgents[who.Kind] = agents
	}
	who.Agent = nameOrOther(agents, who.Agent, maxOutsideAgents)
	to := u.outside[who]
	if to == nil {
		to = &OutsideRow{OutsideCaller: who, First: row.First, Last: row.Last}
		u.outside[who] = to
	}
	to.Count, to.Refused, to.Failed = to.Count+row.Count, to.Refused+row.Refused, to.Failed+row.Failed
	if row.First.Before(to.First) {
		to.First = row.First
	}
	if row.Last.After(to.Last) {
		to.Last = row.Last
	}
}

// Outside returns a copy of the counts of requests outside the interface, ordered by kind, the
// highest count first.
func (u *Usage) Outside() []OutsideRow {
	rows := make([]OutsideRow, 0, len(u.outside))
	for row := range maps.Values(u.outside) {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b OutsideRow) int {
		return cmp.Or(cmp.Compare(slices.Index(OutsideKinds(), a.Kind), slices.Index(OutsideKinds(), b.Kind)), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Side, b.Side))
	})
	return rows
}

// outsideRowOf returns the row that counts one exchange outside the interface.
func outsideRowOf(e *proxy.Exchange) *OutsideRow {
	row := &OutsideRow{
		OutsideCaller: OutsideCaller{Kind: kindOf(e.Request.URL.EscapedPath()), Agent: agentOf(e), Side: sideOf(e)},
		Count:         1, First: e.Start, Last: e.Start,
	}
	switch {
	case e.Status >= http.StatusInternalServerError || e.Status == 0:
		row.Failed = 1
	case e.Status >= http.StatusBadRequest:
		row.Refused = 1
	}
	return row
}

// kindOf returns the kind of a path outside the interface. The legacy store has the same paths
// below /index.php.
func kindOf(path string) string {
	path = strings.TrimPrefix(path, "/index.php")
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	second, _, _ := strings.Cut(rest, "/")
	switch first {
	case "api":
		if second == "xmlrpc" {
			return XMLRPC
		}
		return SOAP
	case "oauth":
		return OAuth
	case "media":
		return Media
	case "admin":
		if strings.HasPrefix(second, "oauth_") { // administrators consent there
			return OAuth
		}
		return Admin
	}
	return Storefront
}
