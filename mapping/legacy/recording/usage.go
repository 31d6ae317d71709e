package recording

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/redact"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A Caller is the combination of properties by which requests are counted.
type Caller struct {
	Consumer string `json:"consumer"` // beginning of its key, "guest" without one
	Agent    string `json:"agent"`    // first product of its User-Agent
	Call     string `json:"call"`     // name in the route table, or "other"
	Side     string `json:"side"`     // the system that answered: "portico" or "legacy"
	Status   int    `json:"status"`
	Format   string `json:"format"` // of the reply: json, xml, text, or "other"
}

// A Row counts the requests of one caller.
type Row struct {
	Caller
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Uses counts the features of the interface that requests used: list modifiers with
	// their fields and operators, store views, media types.
	Uses map[string]int64 `json:"uses"`
}

// Limits of the counts; callers and features beyond them are counted as "other".
const (
	maxRows      = 5000
	maxConsumers = 500
	// otherName stands for names beyond a maximum number.
	otherName = "other"
	maxAgents = 100
	maxUses   = 100 // per row
)

// A Usage is a set of request counts by caller. The zero Usage is empty.
type Usage struct {
	rows              map[Caller]*Row
	consumers, agents map[string]bool
	outside           map[OutsideCaller]*OutsideRow
	outsideAgents     map[string]map[string]bool // by kind
}

// add adds a row to the counts.
func (u *Usage) add(row *Row) {
	if u.rows == nil {
		u.rows, u.consumers, u.agents = map[Caller]*Row{}, map[string]bool{}, map[string]bool{}
	}
	who := row.Caller
	who.Consumer = nameOrOther(u.consumers, who.Consumer, maxConsumers)
	who.Agent = nameOrOther(u.agents, who.Agent, maxAgents)
	to := u.rows[who]
	if to == nil && len(u.rows) >= maxRows {
		who.Consumer, who.Agent = otherName, otherName
		to = u.rows[who]
	}
	if to == nil {
		to = &Row{Caller: who, First: row.First, Last: row.Last, Uses: map[string]int64{}}
		u.rows[who] = to
	}
	to.Count += row.Count
	if row.First.Before(to.First) {
		to.First = row.First
	}
	if row.Last.After(to.Last) {
		to.Last = row.Last
	}
	for use, n := range row.Uses {
		if _, counted := to.Uses[use]; !counted && len(to.Uses) >= maxUses {
			use = otherName
		}
		to.Uses[use] += n
	}
}

// nameOrOther returns name if it is among names or fits the limit most, and "other" if not.
func nameOrOther(names map[string]bool, name string, most int) string {
	if !names[name] && len(names) >= most {
		return otherName
	}
	names[name] = true
	return name
}

// Rows returns a copy of the counts, ordered by call, the highest count first.
func (u *Usage) Rows() []Row {
	rows := u.copyRows()
	sortRows(rows)
	return rows
}

// copyRows returns a copy of the counts in unspecified order.
func (u *Usage) copyRows() []Row {
	rows := make([]Row, 0, len(u.rows))
	for _, row := range u.rows {
		copied := *row
		copied.Uses = maps.Clone(row.Uses)
		rows = append(rows, copied)
	}
	return rows
}

func sortRows(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Agent, b.Agent),
			cmp.Compare(a.Side, b.Side), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Format, b.Format))
	})
}

// rowOf returns the row that counts one exchange.
func rowOf(e *proxy.Exchange) *Row {
	row := &Row{
		Caller: Caller{
			Consumer: redact.Consumer(e.Request), Agent: agentOf(e),
			Call: e.Name(), Side: sideOf(e), Status: e.Status, Format: formatOf(e.ReplyHeader.Get("Content-Type")),
		},
		Count: 1, First: e.Start, Last: e.Start, Uses: map[string]int64{},
	}
	for _, use := range usesOf(e) {
		row.Uses[use] = 1
	}
	return row
}

// The names of the systems that answer.
const (
	portico = "portico"
	legacy  = "legacy"
)

// sideOf returns the name of the system that answered.
func sideOf(e *proxy.Exchange) string {
	if e.Legacy {
		return legacy
	}
	return portico
}

// agentOf returns the name of the client's program without its version, or "none".
func agentOf(e *proxy.Exchange) string { return cmp.Or(redact.Agent(e.Request.Header), "none") }

func formatOf(contentType string) string {
	f, _, err := codec.ContentType(contentType)
	if err != nil {
		return otherName
	}
	return f.String()
}

// usesOf returns the features of the interface that a request uses. Names that the client
// invented are "other".
func usesOf(e *proxy.Exchange) []string {
	var uses []string
	add := func(use ...string) { uses = append(uses, strings.Join(use, " ")) }
	for _, header := range []string{"Accept", "Content-Type"} {
		if value := e.Request.Header.Get(header); value != "" {
			add(header+":", mediaType(value))
		}
	}
	if e.Request.Header.Get("Version") != "" {
		add("Version")
	}
	if script := resource.ScriptOf(e.Request); script != "" {
		add("called behind", string(script))
	}
	if e.Route != nil {
		for _, place := range []string{"store", "category"} {
			if strings.Contains(e.Route.Path, "/"+place+"/:") {
				add(place, "in the path")
			}
		}
	}
	if e.Request.URL.RawQuery == "" || len(e.Request.URL.RawQuery) > maxQueryBytes {
		return uses
	}
	query := codec.ParseForm(e.Request.URL.RawQuery)
	for i := range query.Members {
		parameter := &query.Members[i]
		switch name := parameter.Key; {
		case name == "filter":
			for j := range parameter.Value.Members {
				filter := &parameter.Value.Members[j].Value
				attribute, _ := filter.Get("attribute")
				add(name, fieldName(e.Route, attribute), operator(filter))
			}
		case name == "order":
			add(name, fieldName(e.Route, &parameter.Value))
		case slices.Contains([]string{"page", "limit", "dir", "attrs", "store", "category_id"}, name):
			add(name)
		case strings.HasPrefix(name, "oauth_"):
		default:
			add(otherName, "parameter")
		}
	}
	return uses
}

// maxQueryBytes is the maximum length in bytes of a query that is analyzed.
const maxQueryBytes = 8 << 10

// mediaType returns the first media type of a header if the contract knows it, else "other".
func mediaType(header string) string {
	first, _, _ := strings.Cut(header, ",")
	first, _, _ = strings.Cut(first, ";")
	switch first = strings.TrimSpace(first); first {
	case "application/json", "text/plain", "application/xml", "text/xml", "application/xhtml+xml", "*/*", "application/*", "text/*":
		return first
	}
	return otherName
}

func fieldName(route *contract.Route, name *codec.Node) string {
	if route != nil && name != nil {
		if field, nameOrOther := route.Field(name.Text); nameOrOther {
			return field.Name
		}
	}
	return otherName
}

// operator returns the first known operator of a filter.
func operator(filter *codec.Node) string {
	for i := range filter.Members {
		switch key := filter.Members[i].Key; {
		case key == "attribute":
		case slices.Contains(contract.FilterWords(), key):
			return key
		}
	}
	return otherName
}
