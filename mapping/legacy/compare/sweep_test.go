package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// oneSided returns the differences that lists in both formats report for records that only
// one system has.
func oneSided(legacy, candidate []int64) (want []string) {
	for range formats() {
		for _, id := range legacy {
			want = append(want, fmt.Sprintf("/stockitems records[%d] %q -", id, fmt.Sprint(id)))
		}
		for _, id := range candidate {
			want = append(want, fmt.Sprintf("/stockitems records[%d] - %q", id, fmt.Sprint(id)))
		}
	}
	slices.Sort(want)
	return want
}

// TestMatchesRecords checks that each record that one system lacks is one difference in each
// format, wherever it is, and that all others are compared with their counterparts.
func TestMatchesRecords(t *testing.T) {
	tests := []struct {
		name              string
		legacy, candidate []int64
	}{
		{"equal", upTo(250), upTo(250)},
		{"equal, full pages", upTo(200), upTo(200)},
		{"empty", nil, nil},
		{"first missing", upTo(250), upTo(250, 1)},
		{"last missing", upTo(250), upTo(249)},
		{"on both sides", upTo(350, 7, 350), upTo(350, 101, 102)},
		{"first page missing", upTo(350), upTo(350, upTo(120)...)},
		{"many added", upTo(450, upTo(230)[90:]...), upTo(450)},
		{"all missing", upTo(250), nil},
		{"all different", upTo(150), upTo(300)[150:]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			legacy, candidate := newSystem(tt.legacy...), newSystem(tt.candidate...)
			got := sweepOf(t, legacy, candidate)
			missing := slices.DeleteFunc(slices.Clone(tt.legacy), func(id int64) bool { return slices.Contains(tt.candidate, id) })
			added := slices.DeleteFunc(slices.Clone(tt.candidate), func(id int64) bool { return slices.Contains(tt.legacy, id) })
			if want := oneSided(missing, added); !slices.Equal(got.Found, want) {
				t.Errorf("found %d: %.300q, want %d: %.300q", len(got.Found), got.Found, len(want), want)
			}
			for _, id := range tt.legacy {
				for _, format := range []string{"json", "xml"} {
					want := 1
					if slices.Contains(missing, id) {
						want = 0
					}
					if n := got.Compared[fmt.Sprintf("admin /stockitems/%d %s", id, format)]; n != want {
						t.Errorf("record %d was read %d times as %s, want %d", id, n, format, want)
					}
				}
			}
			if len(got.LeftOut) > 0 {
				t.Errorf("left out %q", got.LeftOut)
			}
		})
	}
}

// TestFindsChange checks that a sweep finds a changed record in lists and alone, both in pages with
// the same records and in pages with different ones.
func TestFindsChange(t *testing.T) {
	for _, lacks := range []int64{0, 3} {
		legacy, candidate := newSystem(upTo(250)...), newSystem(upTo(250, lacks)...)
		candidate.qty[77], candidate.qty[240] = "1", "2"
		got := sweepOf(t, legacy, candidate)
		var want []string
		if lacks > 0 {
			want = oneSided([]int64{lacks}, nil)
		}
		for range formats() {
			want = append(want, `/stockitems qty[77] "77.0000" "1"`, `/stockitems qty[240] "240.0000" "2"`,
				`/stockitems/77 qty[] "77.0000" "1"`, `/stockitems/240 qty[] "240.0000" "2"`)
		}
		if slices.Sort(want); !slices.Equal(got.Found, want) {
			t.Errorf("without %d: found %q, want %q", lacks, got.Found, want)
		}
	}
}

// TestAskedAgain checks that only differences count that are still there after a pause.
func TestAskedAgain(t *testing.T) {
	staysFor := func(times int) func(r *SweepRequest, page, asked int) *Answer {
		seen := map[string]int{}
		return func(r *SweepRequest, _, _ int) *Answer {
			at := r.Target + r.Accept
			if seen[at]++; strings.HasPrefix(r.Target, "/stockitems/2") && len(r.Target) == len("/stockitems/2") && seen[at] <= times {
				return refusal(r, http.StatusNotFound)
			}
			return nil
		}
	}
	// A busy system is asked at most this often in vain.
	busy := func(times int) func(r *SweepRequest, page, asked int) *Answer {
		seen := map[string]int{}
		return func(r *SweepRequest, _, _ int) *Answer {
			if seen[r.Target+r.Accept]++; seen[r.Target+r.Accept] <= times {
				return refusal(r, http.StatusTooManyRequests)
			}
			return nil
		}
	}
	for times, want := range map[int]int{attempts - 1: 0, 3 * attempts: 2} {
		legacy, candidate := newSystem(upTo(5)...), newSystem(upTo(5)...)
		legacy.before, candidate.before = busy(times), busy(times)
		got := sweepOf(t, legacy, candidate)
		if lost := len(got.LeftOut); lost != want || (len(got.Found) > 0) != (want > 0) {
			t.Errorf("busy %d times: found %q, left out %q", times, got.Found, got.LeftOut)
		}
	}
	for times, want := range map[int]int{1: 0, 2: 2} { // the status, and the body
		legacy, candidate := newSystem(upTo(5)...), newSystem(upTo(5)...)
		candidate.before = staysFor(times)
		got := sweepOf(t, legacy, candidate)
		if len(got.Found) != want*len(formats()) {
			t.Errorf("after %d other answers: found %q", times, got.Found)
		}
	}
}

// TestMovingRecords checks that records that are deleted and added in both systems while
// their lists are read, in one system earlier, are no differences.
func TestMovingRecords(t *testing.T) {
	for _, earlier := range []int{0, 1} {
		systems := [2]*system{newSystem(upTo(350)...), newSystem(upTo(350)...)}
		move := func(s *system) {
			for _, id := range []int64{5, 6, 7} {
				delete(s.qty, id)
			}
			s.qty[400] = "400.0000"
		}
		first, second := systems[earlier], systems[1-earlier]
		first.before = func(r *SweepRequest, page, _ int) *Answer {
			if page == 2 && strings.HasSuffix(r.Target, "limit=100") {
				move(first)
			}
			return nil
		}
		o, got := optionsFor(systems, NewSweepState(nil))
		o.Parallel = 1
		o.Sleep = func(ctx context.Context, _ time.Duration) error { // a difference is looked for again
			second.mu.Lock()
			defer second.mu.Unlock()
			move(second)
			return ctx.Err()
		}
		runSweep(t, o)
		if len(got.Found) > 0 || len(got.LeftOut) > 0 {
			t.Errorf("found %q, left out %q", got.Found, got.LeftOut)
		}
		if len(first.qty) != 348 || len(second.qty) != 348 {
			t.Errorf("%d and %d records: nothing moved", len(first.qty), len(second.qty))
		}
	}
}

// shuffled returns a system with records 1 to n, without some, whose list is in another order than the one of the
// ids. Records above 1000 come last.
func shuffled(n int64, without ...int64) *system {
	s := newSystem(upTo(n, without...)...)
	s.before = func(r *SweepRequest, page, _ int) *Answer {
		if !strings.HasSuffix(r.Target, "limit=100") {
			return nil
		}
		all := slices.SortedFunc(maps.Keys(s.qty), func(a, b int64) int {
			return cmp.Or(cmp.Compare(a/1000, b/1000), cmp.Compare(a*7919%10007, b*7919%10007))
		})
		first := 100 * min(page-1, (len(all)-1)/100)
		return s.listOf(r, all[first:min(first+100, len(all))])
	}
	return s
}

// TestUnorderedLists checks that lists that are not in the order of the ids are compared page by page.
func TestUnorderedLists(t *testing.T) {
	for _, n := range []int64{350, 400} { // the last page is short, or comes again
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			got := sweepOf(t, shuffled(n), shuffled(n))
			if len(got.Found) > 0 || len(got.LeftOut) > 0 {
				t.Errorf("equal systems: found %q, left out %q", got.Found, got.LeftOut)
			}
			for id := range n {
				if request := fmt.Sprintf("admin /stockitems/%d json", id+1); got.Compared[request] != 1 {
					t.Errorf("%s is compared %d times", request, got.Compared[request])
				}
			}
			for _, more := range []int64{1, 60, 130} { // at the end of the candidate's list
				candidate := shuffled(n)
				for id := range more {
					candidate.qty[1001+id] = "1.0000"
				}
				got := sweepOf(t, shuffled(n), candidate)
				found := map[string]bool{}
				for _, text := range got.Found {
					found[text] = true
				}
				for id := range more {
					delete(found, fmt.Sprintf("/stockitems records[%[1]d] - \"%[1]d\"", 1001+id))
				}
				if len(found) > 0 || len(got.Found) < int(more) || len(got.LeftOut) > 0 {
					t.Errorf("%d more records: %d differences, others are %q; left out %q", more, len(got.Found), slices.Sorted(maps.Keys(found)), got.LeftOut)
				}
			}
		})
	}
	t.Run("refused later", func(t *testing.T) {
		systems := [2]*system{shuffled(400), shuffled(400)}
		for _, s := range systems {
			list := s.before
			s.before = func(r *SweepRequest, page, asked int) *Answer {
				if page > 2 {
					return refusal(r, http.StatusUnauthorized)
				}
				return list(r, page, asked)
			}
		}
		if got := sweepOf(t, systems[0], systems[1]); !slices.ContainsFunc(got.LeftOut, func(reason string) bool { return strings.Contains(reason, "ends early") }) {
			t.Errorf("left out %q", got.LeftOut)
		}
	})
}

// TestUnorderedContinues continues a sweep of lists that are not in the order of the ids after every few commits. It
// must report the same as one that runs through, unless a page cannot be read: then it must not leave out records
// without a word.
func TestUnorderedContinues(t *testing.T) {
	systems := func() [2]*system {
		candidate := shuffled(400)
		candidate.qty[77] = "changed"
		return [2]*system{shuffled(400), candidate}
	}
	var states [][]byte
	o, want := optionsFor(systems(), NewSweepState(nil))
	o.Save = func(s *SweepState) error {
		data, err := json.Marshal(s)
		states = append(states, data)
		return err
	}
	runSweep(t, o)
	if want.sorted(); len(want.Found) == 0 || len(want.LeftOut) > 0 {
		t.Fatalf("found %q, left out %q", want.Found, want.LeftOut)
	}
	for i := 0; i < len(states); i += 13 {
		for _, busy := range []bool{false, true} {
			var state SweepState
			if err := json.Unmarshal(states[i], &state); err != nil {
				t.Fatal(err)
			}
			both := systems()
			for _, s := range both {
				list := s.before
				s.before = func(r *SweepRequest, page, asked int) *Answer {
					if busy && asked < 10 && strings.HasSuffix(r.Target, "limit=100") {
						return refusal(r, http.StatusServiceUnavailable)
					}
					return list(r, page, asked)
				}
			}
			o, got := optionsFor(both, &state)
			o.Parallel = 1
			runSweep(t, o)
			if got.sorted(); !busy && !reflect.DeepEqual(got, want) {
				t.Fatalf("continued after %d of %d commits: found %q, left out %q", i, len(states), got.Found, got.LeftOut)
			}
			if busy && len(got.LeftOut) == 0 && len(got.Compared) < len(want.Compared) {
				t.Fatalf("continued after %d of %d commits: %d of %d requests, and nothing is left out", i, len(states), len(got.Compared), len(want.Compared))
			}
		}
	}
}

// TestHostileSystemsEnd checks that a sweep ends whatever a system answers, that it sends few more
// requests than to an honest system, and that it reports the records that it could not compare.
func TestHostileSystemsEnd(t *testing.T) {
	isPage := func(r *SweepRequest) bool { return strings.HasSuffix(r.Target, "limit=100") }
	unkeyed := func(r *SweepRequest, records int, text string) *Answer {
		n := codec.Node{Kind: codec.Struct}
		for i := range records {
			n.Members = append(n.Members, codec.Member{Key: fmt.Sprint(i), Value: codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "qty", Value: codec.TextNode(text)}}}})
		}
		return answerWith(r, http.StatusOK, &n)
	}
	tests := []struct {
		name   string
		answer func(s *system, r *SweepRequest, page, asked int) *Answer
		lost   string // reason, "" if everything is compared
	}{
		{"first page for ever", func(s *system, r *SweepRequest, _, _ int) *Answer {
			if isPage(r) {
				return s.listOf(r, upTo(100))
			}
			return nil
		}, ""},
		{"new records for ever", func(s *system, r *SweepRequest, page, asked int) *Answer {
			if isPage(r) {
				ids := upTo(100)
				for i := range ids {
					ids[i] += int64(page) * 100
				}
				return s.listOf(r, ids)
			}
			return nil
		}, "twice as long"},
		{"new records whatever the page", func(s *system, r *SweepRequest, page, asked int) *Answer {
			if isPage(r) {
				ids := upTo(100)
				for i := range ids {
					ids[i] += int64(asked) * 100
				}
				return s.listOf(r, ids)
			}
			return nil
		}, "twice as long"},
		{"descending", func(s *system, r *SweepRequest, page, _ int) *Answer {
			if isPage(r) {
				ids := upTo(250)
				slices.Reverse(ids)
				return s.listOf(r, ids[min(100*(page-1), 200):min(100*page, 250)])
			}
			return nil
		}, "do not ascend"},
		{"without a limit", func(s *system, r *SweepRequest, _, _ int) *Answer {
			if isPage(r) {
				return s.listOf(r, upTo(5000))
			}
			return nil
		}, ""},
		{"huge ids", func(s *system, r *SweepRequest, page, asked int) *Answer {
			if !strings.HasPrefix(r.Target, "/stockitems/") {
				return s.listOf(r, []int64{1<<62 + int64(asked)})
			}
			return nil
		}, ""},
		{"same record twice", func(s *system, r *SweepRequest, _, _ int) *Answer {
			if isPage(r) {
				return s.listOf(r, append(upTo(250), 250, 250))
			}
			return nil
		}, ""},
		{"without ids", func(_ *system, r *SweepRequest, page, _ int) *Answer {
			if isPage(r) {
				return unkeyed(r, 100, fmt.Sprint(page))
			}
			return nil
		}, "no ids"},
		{"without ids, same page", func(_ *system, r *SweepRequest, page, _ int) *Answer {
			if isPage(r) {
				return unkeyed(r, 100, "1")
			}
			return nil
		}, "no ids"},
		{"ids that are paths", func(_ *system, r *SweepRequest, _, _ int) *Answer {
			n := codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "0", Value: codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "item_id", Value: codec.TextNode("1/../../x?y")}}}}}}
			return answerWith(r, http.StatusOK, &n)
		}, "no ids"},
		{"refuses everything", func(_ *system, r *SweepRequest, _, _ int) *Answer { return refusal(r, http.StatusForbidden) }, "ends early"},
		{"fails", func(_ *system, r *SweepRequest, _, _ int) *Answer {
			return refusal(r, http.StatusInternalServerError)
		}, "ends early"},
		{"fails later", func(_ *system, r *SweepRequest, page, _ int) *Answer {
			if isPage(r) && page == 2 {
				return refusal(r, http.StatusInternalServerError)
			}
			return nil
		}, "ends early"},
		{"garbage", func(_ *system, _ *SweepRequest, _, _ int) *Answer {
			return &Answer{Status: http.StatusOK, ContentType: "application/json", Body: []byte("{{{")}
		}, "ends early"},
		{"text of a list", func(_ *system, r *SweepRequest, _, _ int) *Answer {
			return answerWith(r, http.StatusOK, &codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "0", Value: codec.TextNode("1")}}})
		}, "no ids"},
		{"now and then", func(_ *system, r *SweepRequest, _, asked int) *Answer {
			if asked%2 == 0 {
				return refusal(r, http.StatusInternalServerError)
			}
			return nil
		}, ""},
		{"busy", func(_ *system, r *SweepRequest, _, _ int) *Answer {
			return refusal(r, http.StatusServiceUnavailable)
		}, "ends early"},
	}
	for _, tt := range tests {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, both %t", tt.name, both), func(t *testing.T) {
				legacy, candidate := newSystem(upTo(250)...), newSystem(upTo(250)...)
				lie := func(s *system) {
					s.before = func(r *SweepRequest, page, asked int) *Answer { return tt.answer(s, r, page, asked) }
				}
				if lie(candidate); both {
					lie(legacy)
				}
				got := sweepOf(t, legacy, candidate)
				if asked := max(len(legacy.asked), len(candidate.asked)); asked > 25_000 {
					t.Errorf("%d requests", asked)
				}
				isLost := slices.ContainsFunc(got.LeftOut, func(reason string) bool { return tt.lost != "" && strings.Contains(reason, tt.lost) })
				// What both refuse is no list, and a list that is in order in neither is compared page by page.
				if none := both && (tt.name == "refuses everything" || tt.name == "descending"); !isLost && tt.lost != "" && !none {
					t.Errorf("left out %q, want %q", got.LeftOut, tt.lost)
				}
				if !both && len(got.Found) == 0 && tt.name != "same record twice" && tt.name != "now and then" {
					t.Error("the systems differ, and nothing is found")
				}
			})
		}
	}
}

// TestKeys checks that keys that do not belong in a path are not followed.
func TestKeys(t *testing.T) {
	list := codec.Node{Kind: codec.Struct}
	for i, key := range []string{"billing", "a/b", "", "..", "x?y", "5", strings.Repeat("a", 65)} {
		list.Members = append(list.Members, codec.Member{Key: fmt.Sprint(i), Value: codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "item_id", Value: codec.TextNode(key)}}}})
	}
	answer := answerWith(&SweepRequest{}, http.StatusOK, &list)
	if got := sweepKeys(stockTable().Routes()[1], answer); !slices.Equal(got, []string{"billing", "5"}) {
		t.Errorf("keys %q", got)
	}
}

// TestTooMuchIsSaid checks that a sweep reports the keys that it does not follow because there are
// too many.
func TestTooMuchIsSaid(t *testing.T) {
	o, _ := optionsFor([2]*system{newSystem(), newSystem()}, NewSweepState(nil))
	s := NewSweep(o)
	for i := range maxFound {
		if !s.findAll(map[string][]string{"/a": {fmt.Sprint(i)}}) {
			t.Fatalf("key %d is too many", i)
		}
	}
	if s.findAll(map[string][]string{"/a": {"more"}}) || !s.findAll(map[string][]string{"/a": {"0"}, "/b": {"more"}}) {
		t.Error("one more key, or none")
	}

	table := contract.NewTable(contract.Routes(contract.StandardFields()))
	images := codec.Node{Kind: codec.Struct}
	for i := range maxParts + 5 {
		images.Members = append(images.Members, codec.Member{Key: fmt.Sprint(i), Value: codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "id", Value: codec.TextNode(fmt.Sprint(i + 1))}}}})
	}
	o.Routes = table
	o.Ask = func(_ context.Context, _ int, r *SweepRequest) (*Answer, error) {
		if strings.HasSuffix(r.Target, "/images") {
			return answerWith(r, http.StatusOK, &images), nil
		}
		return refusal(r, http.StatusNotFound), nil
	}
	products, _ := table.Match("/products")
	r, err := NewSweep(o).readRecord(t.Context(), SweepCaller{"admin", contract.Admin}, products, "5")
	if err != nil || len(r.outcome.LeftOut) != 1 || !r.outcome.LeftOut[0].Lost || r.outcome.LeftOut[0].Request != "/products/5/images" {
		t.Errorf("left out %v (%v)", r.outcome.LeftOut, err)
	}
}

// TestRoutesAreWalked checks that every route that someone may read is a list, or belongs to
// the records of one.
func TestRoutesAreWalked(t *testing.T) {
	table := contract.NewTable(contract.Routes(contract.StandardFields()))
	all := newRoutes(table)
	walked := map[string]bool{}
	for _, l := range all.lists {
		walked[l.route.Path] = true
	}
	for _, children := range all.children {
		for _, c := range children {
			walked[c.route.Path] = true
		}
	}
	for _, r := range table.Routes() {
		if isRead(r) != walked[r.Path] {
			t.Errorf("%s: walked %t", r.Path, walked[r.Path])
		}
	}
	if got := all.unlisted(); len(got) != 1 || got[0].Path != "/orders/comments/:id" {
		t.Errorf("no list tells the ids of %v", got)
	}
}
