package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A system is a shop with stock items alone. Its lists behave like the original's: a page
// beyond the end is the last page again.
type system struct {
	mu    sync.Mutex
	qty   map[int64]string // by id
	asked []string         // caller, target and format of each request
	// before, if set, may answer a request itself.
	before func(r *SweepRequest, page int, asked int) *Answer
}

// newSystem returns a system with the given records, each with a quantity of its own.
func newSystem(ids ...int64) *system {
	s := &system{qty: map[int64]string{}}
	for _, id := range ids {
		s.qty[id] = fmt.Sprint(id, ".0000")
	}
	return s
}

// upTo returns the ids from 1 to n, without some.
func upTo(n int64, without ...int64) (ids []int64) {
	for id := int64(1); id <= n; id++ {
		if !slices.Contains(without, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// node returns a record.
func (s *system) node(id int64) codec.Node {
	return codec.Node{Kind: codec.Struct, Members: []codec.Member{
		{Key: "item_id", Value: codec.TextNode(fmt.Sprint(id))}, {Key: "qty", Value: codec.TextNode(s.qty[id])},
	}}
}

// answerWith renders a body.
func answerWith(r *SweepRequest, status int, n *codec.Node) *Answer {
	format := contract.JSON
	if strings.Contains(r.Accept, "xml") {
		format = contract.XML
	}
	return &Answer{Status: status, ContentType: format.ContentType(), Body: codec.Append(nil, format, "magento_api", n, false)}
}

// listOf renders a list of records.
func (s *system) listOf(r *SweepRequest, ids []int64) *Answer {
	n := codec.Node{Kind: codec.Struct}
	for i, id := range ids {
		n.Members = append(n.Members, codec.Member{Key: fmt.Sprint(i), Value: s.node(id)})
	}
	return answerWith(r, http.StatusOK, &n)
}

// refusal renders an error.
func refusal(r *SweepRequest, status int) *Answer {
	return answerWith(r, status, &codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "messages", Value: codec.TextNode(fmt.Sprint(status))}}})
}

// answer answers a request.
func (s *system) answer(r *SweepRequest) *Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Caller+" "+r.Target+" "+r.Accept)
	path, query, _ := strings.Cut(r.Target, "?")
	values, _ := url.ParseQuery(query)
	page, _ := strconv.Atoi(values.Get("page"))
	limit, _ := strconv.Atoi(values.Get("limit"))
	if s.before != nil {
		if a := s.before(r, page, len(s.asked)); a != nil {
			return a
		}
	}
	if id, single := strings.CutPrefix(path, "/stockitems/"); single {
		key, _ := strconv.ParseInt(id, 10, 64)
		if _, ok := s.qty[key]; !ok {
			return refusal(r, http.StatusNotFound)
		}
		n := s.node(key)
		return answerWith(r, http.StatusOK, &n)
	}
	ids := slices.Sorted(maps.Keys(s.qty))
	first := min((page-1)*limit, max(0, (len(ids)-1)/limit*limit))
	return s.listOf(r, ids[min(first, len(ids)):min(first+limit, len(ids))])
}

// stockTable returns the routes of stock items.
func stockTable() *contract.Table {
	return contract.NewTable(slices.DeleteFunc(contract.Routes(contract.StandardFields()), func(r *contract.Route) bool { return r.Resource != "stock_items" }))
}

// A report sums up the commits of a sweep.
type report struct {
	Compared map[string]int `json:"compared"` // by caller, target and format
	Found    []string       `json:"found"`    // differences
	LeftOut  []string       `json:"left_out"`
}

func (r *report) commit(o *SweepOutcome) {
	for _, result := range o.Results {
		request := result.Request.Caller + " " + result.Request.Target + " " + strings.TrimPrefix(result.Request.Accept, "application/")
		r.Compared[request]++
		for _, d := range result.Differences {
			text := func(v *string) string {
				if v == nil {
					return "-"
				}
				return *v
			}
			path, _, _ := strings.Cut(result.Request.Target, "?")
			r.Found = append(r.Found, strings.TrimSpace(fmt.Sprintf("%s %s[%s] %s %s", path, d.Field, d.Record, text(d.Legacy), text(d.Candidate))))
		}
	}
	for _, l := range o.LeftOut {
		r.LeftOut = append(r.LeftOut, l.Reason)
	}
}

// sorted returns the report in an order that does not depend on time.
func (r *report) sorted() *report {
	slices.Sort(r.Found)
	slices.Sort(r.LeftOut)
	return r
}

// optionsFor returns options of a sweep of two systems that waits for nothing, and the
// report that it fills.
func optionsFor(systems [2]*system, state *SweepState) (SweepOptions, *report) {
	filled := &report{Compared: map[string]int{}}
	if len(state.Report) > 0 {
		if err := json.Unmarshal(state.Report, filled); err != nil {
			panic(err) // the report of an earlier sweep
		}
	}
	return SweepOptions{
		Routes: stockTable(), Callers: []SweepCaller{{"admin", contract.Admin}, {"guest", contract.Guest}}, Stores: []string{"1"},
		Sample: 1, Parallel: 4, Compare: &Options{}, State: state,
		Ask:      func(_ context.Context, i int, r *SweepRequest) (*Answer, error) { return systems[i].answer(r), nil },
		Commit:   filled.commit,
		Snapshot: func() (json.RawMessage, error) { return json.Marshal(filled) },
		Sleep:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}, filled
}

// runSweep sweeps two systems.
func runSweep(t *testing.T, o SweepOptions) {
	t.Helper()
	s := NewSweep(o)
	if _, err := s.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// sweepOf sweeps two systems with the usual options.
func sweepOf(t *testing.T, legacy, candidate *system) *report {
	t.Helper()
	o, filled := optionsFor([2]*system{legacy, candidate}, NewSweepState(nil))
	runSweep(t, o)
	return filled.sorted()
}
