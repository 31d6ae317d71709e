package recording

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/exchange"
	"github.com/portico-commerce/portico/mapping/mask"
)

// A Caller is what requests are told apart by.
type Caller struct {
	Consumer string `json:"consumer"` // the beginning of its key, "guest" without one
	Agent    string `json:"agent"`    // first product of its User-Agent
	Call     string `json:"call"`     // of the route table, or "other"
	Side     string `json:"side"`     // who answered: "portico" or "legacy"
	Status   int    `json:"status"`
	Format   string `json:"format"` // of the reply: json, xml, text, or "other"
}

// A Row counts the requests of one caller.
type Row struct {
	Caller
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Uses counts what of the interface they made use of: list modifiers with the
	// fields and operators they name, store views, media types.
	Uses map[string]int64 `json:"uses"`
}

// Bounds of counts: beyond them callers and uses are "other".
const (
	mostRows      = 5000
	mostConsumers = 500
	mostAgents    = 100
	mostUses      = 100 // of one row
)

// A Usage is counts of who calls what. The zero Usage is empty.
type Usage struct {
	rows              map[Caller]*Row
	consumers, agents map[string]bool
}

// add adds a row to the counts.
func (u *Usage) add(row *Row) {
	if u.rows == nil {
		u.rows, u.consumers, u.agents = map[Caller]*Row{}, map[string]bool{}, map[string]bool{}
	}
	who := row.Caller
	who.Consumer = known(u.consumers, who.Consumer, mostConsumers)
	who.Agent = known(u.agents, who.Agent, mostAgents)
	to := u.rows[who]
	if to == nil && len(u.rows) >= mostRows {
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
		if _, counted := to.Uses[use]; !counted && len(to.Uses) >= mostUses {
			use = otherName
		}
		to.Uses[use] += n
	}
}

// known returns name if there is room for it among names.
func known(names map[string]bool, name string, most int) string {
	if !names[name] && len(names) >= most {
		return otherName
	}
	names[name] = true
	return name
}

// Rows returns a copy of the counts, the greatest first of each call.
func (u *Usage) Rows() []Row {
	rows := u.copies()
	sortRows(rows)
	return rows
}

// copies returns a copy of the counts in any order.
func (u *Usage) copies() []Row {
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

// rowOf returns the row of one exchange.
func rowOf(e *exchange.Exchange) *Row {
	row := &Row{
		Caller: Caller{
			Consumer: consumerOf(e.Request), Agent: cmp.Or(mask.Agent(e.Request.Header), "none"),
			Call: e.Name(), Side: "portico", Status: e.Status, Format: formatOf(e.ReplyHeader.Get("Content-Type")),
		},
		Count: 1, First: e.Start, Last: e.Start, Uses: map[string]int64{},
	}
	if e.Legacy {
		row.Side = "legacy"
	}
	for _, use := range usesOf(e) {
		row.Uses[use] = 1
	}
	return row
}

func formatOf(contentType string) string {
	f, _, err := codec.ContentType(contentType)
	if err != nil {
		return otherName
	}
	return f.String()
}

// usesOf names what of the interface a request makes use of. Names of a client's own
// are "other".
func usesOf(e *exchange.Exchange) []string {
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
	if e.Route != nil {
		for _, place := range []string{"store", "category"} {
			if strings.Contains(e.Route.Path, "/"+place+"/:") {
				add(place, "in the path")
			}
		}
	}
	if e.Request.URL.RawQuery == "" || len(e.Request.URL.RawQuery) > longestQuery {
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

// longestQuery bounds the queries that are looked into, in bytes.
const longestQuery = 8 << 10

// mediaType returns the first media type of a header, if the contract knows it.
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
		if field, known := route.Field(name.Text); known {
			return field.Name
		}
	}
	return otherName
}

// operator returns the first operator of a filter that the contract knows.
func operator(filter *codec.Node) string {
	for i := range filter.Members {
		switch key := filter.Members[i].Key; {
		case key == "attribute":
		case slices.Contains(mask.Operators(), key):
			return key
		}
	}
	return otherName
}
