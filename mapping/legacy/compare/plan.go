package compare

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
)

const (
	pageLimit = 100 // records of a page, the most that the contract allows
	// maxRecords is the greatest length of a list. Pages of one record beyond it are the
	// last one.
	maxRecords = 100_000_000
	maxStores  = 1000
	// storeGap is the number of consecutive ids without a store view after which no more
	// are expected.
	storeGap = 20
)

// planned has the numbers that a sweep is expected to reach.
type planned struct {
	pages, records int64
	perRecord      float64 // requests
	latency        time.Duration
	previous       int64 // requests that an earlier run of this sweep sent
}

// A SweepProgress is the progress of a sweep.
type SweepProgress struct {
	Asked int64 // requests to each system
	Total int64 // how many there will be, as far as is known
	Rate  float64
	Left  time.Duration
}

// Plan counts the lists and looks for store views, unless an earlier run has done so, and returns
// an estimate of the requests and the time that the sweep takes. It must be called before Run. It
// fails if a system rejects the credentials of a caller.
func (s *sweep) Plan(ctx context.Context) (SweepProgress, error) {
	if len(s.state.Lists) == 0 {
		if err := s.count(ctx); err != nil {
			return SweepProgress{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asker.count()
	if elapsed := s.options.Now().Sub(s.started); asked > 0 {
		s.planned.latency = elapsed / time.Duration(asked)
	}
	s.planned.previous = s.state.Pages + s.state.RecordReads
	s.expectLanes()
	s.expectRecords()
	return s.progress(), s.save()
}

// count fills the Stores and Lists of the state.
func (s *sweep) count(ctx context.Context) error {
	var lengths []sweepLength
	for _, list := range s.routes.lists {
		if len(list.params) > 0 {
			continue
		}
		for _, caller := range s.options.Callers {
			if !readable(list.route, caller.Role) {
				continue
			}
			length, err := s.length(ctx, list.route, caller.Name)
			if err != nil {
				return err
			}
			lengths = append(lengths, length)
		}
	}
	stores := s.options.Stores
	if len(stores) == 0 {
		var err error
		if stores, err = s.findStores(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Lists, s.state.Stores = lengths, stores
	return nil
}

// request returns the read of route, a list, as JSON.
func (s *sweep) request(route *contract.Route, caller, query string, params ...string) *SweepRequest {
	return &SweepRequest{Caller: caller, Target: route.Expand(params...) + query, Accept: accept(contract.JSON), Route: route}
}

// length counts the records of a list in both systems.
func (s *sweep) length(ctx context.Context, list *contract.Route, caller string) (sweepLength, error) {
	l := sweepLength{List: list.Path, Caller: caller}
	for system, name := range []string{"legacy store", "candidate"} {
		length, refused, err := s.lengthIn(ctx, system, list, caller)
		if err != nil {
			return l, err
		}
		if refused {
			return l, fmt.Errorf("the %s answers 401 to %s: correct the credentials, or leave out those of this caller", name, caller)
		}
		l.Records[system] = length
	}
	return l, nil
}

// lengthIn counts the records of a list in one system, with pages of one record: a page
// beyond the end is the last one again (wire 10), or empty in some systems. It is 0 if the
// system does not list records.
func (s *sweep) lengthIn(ctx context.Context, system int, list *contract.Route, caller string) (length int64, refused bool, err error) {
	idOn := func(page int64) (id int64, ok bool, status int) {
		answer, failure := s.asker.one(ctx, system, s.request(list, caller, fmt.Sprintf("?page=%d&limit=1", page)))
		if err = ctx.Err(); err != nil || failure != nil {
			return 0, false, 0
		}
		all, isList := entries(list, answer, 0)
		if !isList || len(all) == 0 {
			return 0, false, answer.Status
		}
		return all[0].id, true, answer.Status
	}
	first, ok, status := idOn(1)
	if !ok {
		return 0, status == http.StatusUnauthorized, err
	}
	last, repeats, _ := idOn(maxRecords)
	// The last page is above low, and not above high. There are no more records than ids.
	low, high := int64(0), int64(maxRecords)
	if repeats && last >= first {
		high = min(high, last-first+1)
	}
	for high-low > 1 && err == nil {
		middle := (low + high) / 2
		if id, ok, _ := idOn(middle); !ok || repeats && id == last {
			high = middle
		} else {
			low = middle
		}
	}
	if !repeats {
		high = low
	}
	return high, false, err
}

// findStores returns the ids of the store views that one of the systems has.
func (s *sweep) findStores(ctx context.Context) ([]string, error) {
	var list *contract.Route
	for _, l := range s.routes.lists {
		if len(l.params) == 1 && l.params[0].List == nil {
			list = l.route
			break
		}
	}
	var found []string
	for id, missed := 0, 0; list != nil && id < maxStores && missed < storeGap; id++ {
		p, err := s.asker.both(ctx, s.request(list, s.options.Callers[0].Name, "?limit=1", strconv.Itoa(id)))
		if err != nil {
			return nil, err
		}
		missed++
		for _, answer := range p.answers {
			if answer != nil && answer.Status == http.StatusOK {
				missed = 0
			}
		}
		if missed == 0 {
			found = append(found, strconv.Itoa(id))
		}
	}
	return found, nil
}

// counted returns the number of records of a list for a caller, or for anyone if caller is
// "": the greater one of both systems.
func (s *sweep) counted(list, caller string) (records int64) {
	for _, l := range s.state.Lists {
		if l.List == list && (caller == "" || l.Caller == caller) {
			records = max(records, l.Records[0], l.Records[1])
		}
	}
	return records
}

// root returns the path of the list of the same resource without parameters.
func (s *sweep) root(list *contract.Route) string {
	for _, l := range s.routes.lists {
		if len(l.params) == 0 && l.route.Resource == list.Resource {
			return l.route.Path
		}
	}
	return ""
}

// expectLanes counts the pages of the lists of this phase. The caller holds s.mu.
func (s *sweep) expectLanes() {
	s.planned.pages = s.state.Pages
	for l := range s.lanes() {
		if s.state.Lanes.isDone(l.number) {
			continue
		}
		if s.state.Phase > 0 {
			s.planned.pages++ // a category rarely has more than a page
		} else {
			s.planned.pages += s.counted(s.root(l.route), l.caller.Name)/pageLimit + 1
		}
	}
}

// expectRecords counts the records that will be read one by one. The caller holds s.mu.
func (s *sweep) expectRecords() {
	records, reads := 0.0, 0.0
	for _, list := range s.routes.lists {
		if len(list.params) > 0 {
			continue
		}
		for _, caller := range s.options.Callers {
			n := float64(s.counted(list.route.Path, caller.Name)) * s.options.Sample
			records += n
			reads += n * float64(s.routes.below(list.route, caller.Role, len(s.state.Stores))*len(formats()))
		}
	}
	s.planned.records = int64(math.Ceil(records))
	if records > 0 {
		s.planned.perRecord = reads / records
	}
}

// progress estimates the rest of the sweep. The caller holds s.mu.
func (s *sweep) progress() SweepProgress {
	const enough = 20 // records, after which their mean is better than the plan
	perRecord := s.planned.perRecord
	if s.state.Records >= enough {
		perRecord = float64(s.state.RecordReads) / float64(s.state.Records)
	}
	asked := s.asker.count()
	rest := float64(max(0, s.planned.pages-s.state.Pages)) + float64(max(0, s.planned.records-s.state.Records))*perRecord
	p := SweepProgress{Asked: s.planned.previous + asked}
	p.Total = p.Asked + int64(math.Ceil(rest))
	if elapsed := s.options.Now().Sub(s.started).Seconds(); elapsed > 0 && asked > 0 {
		p.Rate = float64(asked) / elapsed
	}
	seconds := rest * s.planned.latency.Seconds() / float64(s.options.Parallel)
	if s.state.Records >= enough && p.Rate > 0 {
		seconds = rest / p.Rate
	}
	if s.options.Rate > 0 {
		seconds = max(seconds, rest/s.options.Rate)
	}
	p.Left = time.Duration(min(seconds, float64(math.MaxInt64/time.Second)) * float64(time.Second))
	return p
}

// show reports the progress, at most five times a second: the estimate takes time. The
// caller holds s.mu.
func (s *sweep) show() {
	now := s.options.Now()
	if s.options.Show == nil || now.Sub(s.shown) < time.Second/5 {
		return
	}
	s.shown = now
	s.options.Show(s.progress())
}

// selects reports whether the sample has a record of a list. It depends on nothing but the
// seed, the list and the key.
func (s *sweep) selects(list, key string) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", s.options.Seed, list, key))
	return float64(binary.BigEndian.Uint64(sum[:]))/(1<<64) < s.options.Sample
}
