package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// parts returns a shop with two families: products with stock, and orders, which are only
// read, with comments, which are written.
func parts() []Part {
	return []Part{
		{Name: "products", Root: "products", Calls: []string{"getProduct", "updateProduct"}, Writes: true},
		{Name: "stock_items", Root: "products", Calls: []string{"getStockItem", "updateStockItem"}, Writes: true},
		{Name: "order_comments", Root: "orders", Calls: []string{"createOrderComment"}, Writes: true},
		{Name: "orders", Root: "orders", Calls: []string{"getOrder"}},
	}
}

const (
	toLegacy  = proxy.Legacy
	toPortico = proxy.Portico
)

// rules returns rules that send everything to the legacy store, except as others say.
func rules(others ...proxy.Rule) proxy.Rules {
	return append(proxy.Rules{{Resource: proxy.Everything, To: toLegacy}}, others...)
}

func reads(resource string, to proxy.Target, shadowed bool) proxy.Rule {
	return proxy.Rule{Resource: resource, Calls: proxy.Reads, To: to, Shadow: shadowed}
}

func whole(resource string) proxy.Rule {
	return proxy.Rule{Resource: resource, To: toPortico}
}

func mirrored(resource string) proxy.Rule {
	return proxy.Rule{Resource: resource, Calls: proxy.Writes, To: toPortico, Mirror: true}
}

// allMirrored returns rules under which everything has moved, and writes are mirrored.
func allMirrored() proxy.Rules {
	return rules(reads("products", toPortico, false), reads("stock_items", toPortico, false), reads("orders", toPortico, true), reads("order_comments", toPortico, false),
		mirrored("products"), mirrored("stock_items"), mirrored("order_comments"))
}

// unmirrored makes a situation one whose adapter cannot mirror.
func unmirrored(s *Situation) { s.NoMirror, s.Follow = true, nil }

func day(n int) time.Time { return time.Date(2024, 3, n, 12, 0, 0, 0, time.UTC) }

// usage returns counts of calls and of requests outside the interface.
func usage(t *testing.T) *recording.Usage {
	t.Helper()
	u, err := recording.ReadUsage(fstest.MapFS{"usage-a.json": {Data: []byte(`{"version":1,"rows":[
		{"call":"getOrder","side":"legacy","status":200,"count":90,"first":"2024-03-01T12:00:00Z","last":"2024-03-04T12:00:00Z"},
		{"call":"getOrder","side":"portico","status":404,"count":6,"first":"2024-03-01T12:00:00Z","last":"2024-03-05T12:00:00Z"},
		{"call":"getOrder","side":"portico","status":0,"count":4,"first":"2024-03-01T12:00:00Z","last":"2024-03-01T12:00:00Z"},
		{"call":"updateStockItem","side":"legacy","status":200,"count":5,"first":"2024-03-01T12:00:00Z","last":"2024-03-02T12:00:00Z"},
		{"call":"other","side":"legacy","status":200,"count":5000,"first":"2024-03-01T12:00:00Z","last":"2024-03-02T12:00:00Z"}],
		"outside":[{"kind":"soap","agent":"PHP-SOAP","side":"legacy","count":7,"first":"2024-03-01T12:00:00Z","last":"2024-03-03T12:00:00Z"},
		{"kind":"soap","agent":"Robot","side":"legacy","count":2,"first":"2024-03-02T12:00:00Z","last":"2024-03-06T12:00:00Z"},
		{"kind":"xmlrpc","agent":"Robot","side":"portico","count":2,"first":"2024-03-02T12:00:00Z","last":"2024-03-06T12:00:00Z"},
		{"kind":"media","agent":"Mozilla","side":"legacy","count":3,"first":"2024-03-02T12:00:00Z","last":"2024-03-06T12:00:00Z"}]}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// compared returns counts of shadow reads of products.
func compared(outcomes map[string]int64, fields map[string]int64) *Shadow {
	call := compare.ShadowCount{Call: "getProduct", Outcomes: outcomes, Fields: fields, Last: day(9)}
	if outcomes[compare.Different] > 0 {
		call.LastDifferent, call.SameSince = day(8), 4
	}
	return &Shadow{Since: day(7), Calls: []compare.ShadowCount{call, {Call: "other", Outcomes: map[string]int64{compare.Different: 1}}}}
}

// swept returns a complete sweep without differences.
func swept() *Sweep {
	same := Compared{Answers: 10, Accepted: 1}
	return &Sweep{Legacy: "http://old/", Started: day(5), Ended: day(6), Complete: true, Resources: map[string]Compared{"products": same, "stock_items": same, "orders": same, "order_comments": same}}
}

// settled returns a situation in which nothing is left to resolve.
func settled(rules proxy.Rules) *Situation {
	mirrors := map[string]Mirror{}
	for _, part := range parts() {
		if part.Writes && rules.Mirrors(part.Name) {
			mirrors[part.Name] = Mirror{Owner: nameOf(toPortico)}
		}
	}
	return &Situation{
		Legacy: "http://old", Rules: rules, Resources: parts(), Import: &Import{At: day(1)}, Sweep: swept(), Follow: &Follow{LagSeconds: new(1.5)},
		Shadow: compared(map[string]int64{compare.ShadowSame: 3}, nil), Mirrors: mirrors,
	}
}

// of returns the entry of a plan about a resource.
func of(t *testing.T, p *Plan, resource string) *Resource {
	t.Helper()
	for i := range p.Resources {
		if p.Resources[i].Name == resource {
			return &p.Resources[i]
		}
	}
	t.Fatalf("no %s in the plan", resource)
	return nil
}

// TestSteps has a case for every state and every step.
func TestSteps(t *testing.T) {
	const all = "  - {resource: all, to: legacy}"
	for _, tt := range []struct {
		name     string
		resource string
		rules    proxy.Rules
		change   func(*Situation)
		state    State
		step     string
		lines    string // without the first one, if that is routes:
		commands int
		back     string // beginning of Resource.Back, and of Step.Back
		first    []string
	}{
		{
			"before the import", "products", rules(), func(s *Situation) { s.Import, s.Sweep, s.Follow = nil, nil, nil },
			InFront, "import", "", 1, "Restore|The way back stays open", nil,
		},
		{
			"imported", "products", rules(), func(s *Situation) { s.Sweep, s.Follow = nil, nil },
			InFront, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open",
			[]string{"No sweep has compared it: run portico compare", "Portico has the legacy store's records of 2024-03-01 12:00 UTC: repeat portico import --update"},
		},
		{
			"followed", "products", rules(), func(s *Situation) { s.Sweep = nil },
			Followed, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open", []string{"No sweep has compared it"},
		},
		{
			"followed, with parked records", "products", rules(), func(s *Situation) { s.Follow.Parked = map[string]int64{"products": 3, "orders": 1} },
			Agreed, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open", []string{"Changed records that could not be stored: 3."},
		},
		{
			"followed from far", "products", rules(), func(s *Situation) { s.Follow.LagSeconds = new(61.2) },
			Agreed, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open", []string{"The store is 61 seconds behind the legacy store"},
		},
		{
			"followed by nobody knows whom", "products", rules(reads("products", toLegacy, true)), func(s *Situation) { s.Follow.LagSeconds = nil },
			Shadowed, "move_reads", all + "\n  - {resource: products, calls: reads, to: portico, shadow: true}", 0, "Restore|The way back stays open", []string{"How far the store is behind the legacy store is unknown"},
		},
		{
			"compared", "products", rules(), nil,
			Agreed, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open", nil,
		},
		{
			"compared, with differences", "products", rules(), func(s *Situation) { s.Sweep.Resources["products"] = Compared{Answers: 10, Different: 2} },
			Followed, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open",
			[]string{"In the sweep of 2024-03-06 12:00 UTC, 2 of 10 answers differed"},
		},
		{
			"compared in part", "products", rules(), func(s *Situation) { s.Sweep.Complete = false },
			Followed, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open", []string{"was not complete"},
		},
		{
			"compared before the import", "products", rules(), func(s *Situation) { s.Import.At, s.Follow = day(7), nil },
			Agreed, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open", []string{"is older than the last import, of 2024-03-07", "repeat portico import --update"},
		},
		{
			"not compared", "products", rules(), func(s *Situation) { delete(s.Sweep.Resources, "products") },
			Followed, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open", []string{"No sweep has compared it"},
		},
		{
			"shadowed", "products", rules(reads("products", toLegacy, true)), nil,
			Shadowed, "move_reads", all + "\n  - {resource: products, calls: reads, to: portico, shadow: true}", 0, "Restore|The way back stays open", nil,
		},
		{
			"shadowed, nothing compared", "products", rules(reads("products", toLegacy, true)), func(s *Situation) { s.Shadow.Calls = nil },
			Shadowed, "move_reads", all + "\n  - {resource: products, calls: reads, to: portico, shadow: true}", 0, "Restore|The way back stays open", []string{"No read of products has been compared yet"},
		},
		{
			"shadowed, none that could be judged", "products", rules(reads("products", toLegacy, true)),
			func(s *Situation) { s.Shadow = compared(map[string]int64{compare.Inconclusive: 5, "failed": 2}, nil) },
			Shadowed, "move_reads", all + "\n  - {resource: products, calls: reads, to: portico, shadow: true}", 0, "Restore|The way back stays open", []string{"No read of products has been compared yet"},
		},
		{
			"shadowed, with differences", "products", rules(reads("products", toLegacy, true)),
			func(s *Situation) {
				s.Shadow = compared(map[string]int64{compare.ShadowSame: 9, compare.Different: 3}, map[string]int64{"sku": 1, "name": 2})
			},
			Shadowed, "move_reads", all + "\n  - {resource: products, calls: reads, to: portico, shadow: true}", 0, "Restore|The way back stays open",
			[]string{"The shadow of products: 3 of 12 answers differed since 2024-03-07 12:00 UTC, the last one at 2024-03-08 12:00 UTC, in name and sku; 4 have been the same since"},
		},
		{
			"shadowed, nobody asked", "products", rules(reads("products", toLegacy, true)), func(s *Situation) { s.Shadow = nil },
			Shadowed, "move_reads", all + "\n  - {resource: products, calls: reads, to: portico, shadow: true}", 0, "Restore|The way back stays open", []string{"is unknown: start portico serve"},
		},
		{
			"shadowed, never called, swept", "products", rules(reads("products", toLegacy, true)), func(s *Situation) { s.Usage, s.Shadow.Calls = usage(t), nil },
			Shadowed, "move_reads", all + "\n  - {resource: products, calls: reads, to: portico, shadow: true}", 0, "Restore|The way back stays open", nil,
		},
		{
			"shadowed, never called, not swept", "products", rules(reads("products", toLegacy, true)), func(s *Situation) { s.Usage, s.Shadow.Calls, s.Sweep = usage(t), nil, nil },
			Shadowed, "move_reads", all + "\n  - {resource: products, calls: reads, to: portico, shadow: true}", 0, "Restore|The way back stays open",
			[]string{"Nobody calls products, so that only a sweep", "No sweep has compared it"},
		},
		{
			"shadowed by the rule for all", "products", proxy.Rules{{Resource: proxy.Everything, To: toLegacy, Shadow: true}}, nil,
			Shadowed, "move_reads", "  - {resource: all, to: legacy, shadow: true}\n  - {resource: products, calls: reads, to: portico, shadow: true}", 0, "Restore|The way back stays open", nil,
		},
		{
			"reads moved, those of a part not", "products", rules(reads("products", toPortico, true)), nil,
			ReadsMoved, "wait", "", 0, "Restore|The way back stays open", nil,
		},
		{
			"reads moved, those that show a part not", "order_comments", rules(reads("order_comments", toPortico, true)), nil,
			ReadsMoved, "wait", "", 0, "Restore|The way back stays open", nil,
		},
		{
			"reads moved", "stock_items", rules(reads("products", toPortico, true), reads("stock_items", toPortico, false)), func(s *Situation) {
				s.Shadow.Calls = append(s.Shadow.Calls, compare.ShadowCount{Call: "getStockItem", Outcomes: map[string]int64{compare.ShadowSame: 1}})
			},
			ReadsMoved, "move_writes",
			all + "\n  - {resource: stock_items, calls: reads, to: portico}\n  - {resource: products, calls: reads, to: portico}\n  - {resource: products, calls: writes, to: portico, mirror: true}\n  - {resource: stock_items, calls: writes, to: portico, mirror: true}",
			0, "Restore|The way back stays open: restore the former lines, those without mirror: true", nil,
		},
		{
			"reads moved, while the store is behind", "order_comments", rules(reads("orders", toPortico, false), reads("order_comments", toPortico, false)),
			func(s *Situation) { s.Follow.LagSeconds, s.Usage, s.Sweep = new(99.0), usage(t), nil },
			ReadsMoved, "move_writes", all + "\n  - {resource: orders, calls: reads, to: portico}\n  - {resource: order_comments, calls: reads, to: portico}\n  - {resource: order_comments, calls: writes, to: portico, mirror: true}",
			0, "Restore|The way back stays open", []string{"Nobody calls order_comments", "99 seconds behind"},
		},
		{
			"reads moved, settings are missing", "products", rules(reads("products", toPortico, true), reads("stock_items", toPortico, false)),
			func(s *Situation) { s.Follow, s.Unset = nil, []string{"follow.dsn", "legacy.token"} },
			ReadsMoved, "prepare", "", 0, "Restore|The way back stays open", []string{"repeat portico import --update"},
		},
		{
			"reads moved, the writes are not back yet", "products", rules(reads("products", toPortico, true), reads("stock_items", toPortico, false)), func(s *Situation) { s.Mirrors["products"] = Mirror{Owner: "portico"} },
			ReadsMoved, "wait", "", 0, "Send the writes to legacy again|The way back stays open", []string{"The writes of products have not changed sides: portico still has them."},
		},
		{"mirrored", "products", allMirrored(), nil, Mirrored, "none", "", 0, "Send the writes to legacy again", nil},
		{"mirrored, and still shadowed", "products", append(rules(reads("products", toPortico, true)), allMirrored()[1:]...), nil, Mirrored, "none", "", 0, "Send the writes to legacy again", nil},
		{
			"mirrored, while the store is behind", "products", allMirrored(), func(s *Situation) { s.Follow.LagSeconds = new(99.0) },
			Mirrored, "none", "", 0, "Send the writes to legacy again", []string{"99 seconds behind"},
		},
		{
			"mirrored, nobody knows where the writes are", "products", allMirrored(), func(s *Situation) { s.Mirrors = nil },
			Mirrored, "wait", "", 0, "Send the writes to legacy again|The way back stays open", []string{"Which system has the writes of products is unknown"},
		},
		{
			"mirrored, the writes are not here yet", "products", allMirrored(), func(s *Situation) { delete(s.Mirrors, "products") },
			Mirrored, "wait", "", 0, "Send the writes to legacy again|The way back stays open", []string{"The writes of products have not changed sides: legacy still has them."},
		},
		{
			"mirrored, the writes are changing sides", "products", allMirrored(), func(s *Situation) { s.Mirrors["products"] = Mirror{Owner: "portico", Turning: true} },
			Mirrored, "wait", "", 0, "Send the writes to legacy again|The way back stays open", []string{"The writes of products have not changed sides: portico still has them."},
		},
		{
			"mirrored, with entries that wait", "products", allMirrored(), func(s *Situation) { s.Mirrors["products"] = Mirror{Owner: "portico", Waiting: 2, Oldest: day(3)} },
			Mirrored, "none", "", 0, "Send the writes to legacy again, without mirror: true, and reload: they go back once the legacy store has all of them. This way ends", nil,
		},
		{
			"mirrored, with all that is to be settled", "products", allMirrored(),
			func(s *Situation) {
				s.Mirrors["products"] = Mirror{Owner: "portico", Waiting: 2, Parked: 3, Held: 4, Unknown: 5, Oldest: day(3)}
			},
			Mirrored, "settle", "", 1,
			"Send the writes to legacy again, without mirror: true, and reload: they go back once the legacy store has all of them. It does not get some of them: see portico mirror list." +
				" It will lack changes for which its interface has no form (4): see portico mirror list --held. This way ends when the legacy store is left.|The way back stays open. Until",
			[]string{
				"Nobody knows whether the legacy store has created some records of products: 5. Look at portico mirror list.", "The legacy store refuses changes of products: 3. Look at portico mirror list.",
				"Changes of products wait to be repeated at the legacy store: 2, the oldest since 2024-03-03 12:00 UTC.",
			},
		},
		{
			"reads moved, writes of others mirrored", "products", slices.DeleteFunc(allMirrored(), func(r proxy.Rule) bool { return r.Mirror && r.Resource != "order_comments" }), func(s *Situation) {
				s.Shadow.Calls = append(s.Shadow.Calls, compare.ShadowCount{Call: "getStockItem", Outcomes: map[string]int64{compare.ShadowSame: 1}})
			},
			ReadsMoved, "move_writes", strings.Join(Lines(allMirrored())[1:6], "\n") + "\n  - {resource: order_comments, calls: writes, to: portico, mirror: true}\n  - {resource: products, calls: writes, to: portico, mirror: true}\n  - {resource: stock_items, calls: writes, to: portico, mirror: true}",
			0, "Restore|The way back stays open", nil,
		},
		{"mirrored, a refused change", "products", allMirrored(), func(s *Situation) { s.Mirrors["products"] = Mirror{Owner: "portico", Parked: 1} }, Mirrored, "settle", "", 1, "Send|The way back stays open", []string{"1. Look at portico mirror list"}},
		{"mirrored, an unknown create", "products", allMirrored(), func(s *Situation) { s.Mirrors["products"] = Mirror{Owner: "portico", Unknown: 1} }, Mirrored, "settle", "", 1, "Send|The way back stays open", []string{"1. Look at portico mirror list"}},
		{"moved, shown by writes that are mirrored", "orders", allMirrored(), nil, Moved, "none", "", 0, "Send the writes of order_comments back to the legacy store first", nil},
		{
			"reads moved, unmirrored", "products", rules(reads("products", toPortico, true), reads("stock_items", toPortico, true)), func(s *Situation) { unmirrored(s); s.Usage = usage(t) },
			ReadsMoved, "move_writes", all + "\n  - {resource: products, to: portico}\n  - {resource: stock_items, to: portico}", 1, "Restore|The way back ends: the legacy store lacks",
			[]string{
				"No read of stock_items", "The two systems do not share a store", "They may write: SOAP (9 requests since 2024-03-01 12:00 UTC by PHP-SOAP and Robot, the last one at 2024-03-06 12:00 UTC).",
				"Stop the writes to the legacy store, and fetch the last ones",
			},
		},
		{
			"reads moved, writes of others unmirrored", "products", rules(reads("products", toPortico, false), reads("stock_items", toPortico, false), whole("order_comments")),
			func(s *Situation) { s.Follow, s.Unset, s.Sweep = nil, []string{"follow.dsn"}, nil },
			ReadsMoved, "move_writes", all + "\n  - {resource: order_comments, to: portico}\n  - {resource: products, to: portico}\n  - {resource: stock_items, to: portico}", 1, "Restore|The way back ends", []string{"No read of stock_items", "The two systems do not share a store", "Stop the writes"},
		},
		{
			"writes moved before reads", "products", rules(proxy.Rule{Resource: "products", Calls: proxy.Writes, To: toPortico}), unmirrored,
			WritesMoved, "move_reads", all + "\n  - {resource: products, to: portico}", 0, "Only by hand|The way back stays as it is", nil,
		},
		{
			"moved, still shadowed", "products", rules(proxy.Rule{Resource: "products", To: toPortico, Shadow: true}), unmirrored,
			Moved, "end_shadow", all + "\n  - {resource: products, to: portico}", 0, "Only by hand|The way back stays as it is", nil,
		},
		{"moved", "products", rules(whole("products")), unmirrored, Moved, "none", "", 0, "Only by hand", nil},
		{
			"moved, without writes, while all others are mirrored", "orders", rules(reads(proxy.Everything, toPortico, false), mirrored(proxy.Everything), proxy.Rule{Resource: proxy.Outside, To: toLegacy}), nil,
			Moved, "none", "", 0, "Send the writes of order_comments back to the legacy store first", nil,
		},
		{"moved, without writes", "orders", rules(reads("orders", toPortico, true)), nil, Moved, "none", "", 0, "Restore", nil},
		{
			"moved, without writes and not followed", "orders", rules(reads("orders", toPortico, true)), func(s *Situation) { s.Follow = nil },
			Moved, "none", "", 0, "Restore", []string{"repeat portico import --update"},
		},
		{"alone", "products", nil, func(s *Situation) { s.Legacy = "" }, Alone, "none", "", 0, "None", nil},

		{"outside, first", "outside", rules(whole("products")), unmirrored, InFront, "wait", "", 0, "Restore|The way back stays open", nil},
		{
			"outside, last", "outside", allMirrored(), func(s *Situation) { s.Usage = usage(t) },
			InFront, "turn_off", "routes: []\nfollow:\n  dsn: \"\"\nlegacy:\n  url: \"\"", 0, "Restore|The way back ends",
			[]string{"Portico does not serve SOAP (9 requests since 2024-03-01 12:00 UTC by PHP-SOAP and Robot", "wait until the store has followed", "Unset PORTICO_FOLLOW_DSN"},
		},
		{
			"outside, last, the legacy store lacks something", "outside", allMirrored(),
			func(s *Situation) {
				s.Mirrors["products"] = Mirror{Owner: "portico", Waiting: 2}
				s.Mirrors["order_comments"] = Mirror{Owner: "portico", Unknown: 1}
				delete(s.Mirrors, "stock_items")
			},
			InFront, "wait", "", 0, "Restore|The way back stays open", []string{"Changes of products wait", "legacy still has them", "1. Look at portico mirror list."},
		},
		{
			"outside, last, nobody knows what the legacy store lacks", "outside", allMirrored(), func(s *Situation) { s.Mirrors = nil },
			InFront, "wait", "", 0, "Restore|The way back stays open", []string{"the writes of products is unknown", "the writes of stock_items is unknown", "the writes of order_comments is unknown"},
		},
		{
			"outside, last, not mirrored", "outside", rules(whole("products"), whole("stock_items"), whole("orders"), whole("order_comments")), unmirrored,
			InFront, "move_outside", "routes: []", 1, "Restore|The way back stays open for these paths",
			[]string{"Who still calls the legacy store is unknown", "Stop the writes to the legacy store, and fetch the last ones"},
		},
		{
			"stores that imports cannot reach", "products", rules(), func(s *Situation) { s.Follow, s.Import, s.NoImports = nil, nil, true },
			Agreed, "shadow", all + "\n  - {resource: products, calls: reads, to: legacy, shadow: true}", 0, "Restore|The way back stays open", []string{"portico import cannot reach the records"},
		},
		{
			"stores that imports cannot reach, at last", "outside", rules(whole("products"), whole("stock_items"), whole("orders"), whole("order_comments")),
			func(s *Situation) { unmirrored(s); s.Import, s.NoImports = nil, true },
			InFront, "move_outside", "routes: []", 0, "Restore|The way back stays open", []string{"Who still calls", "bring the last ones over"},
		},
		{
			"outside, moved", "outside", nil, unmirrored, Moved, "turn_off", "routes: []\nlegacy:\n  url: \"\"", 0, "Restore|The way back ends when",
			[]string{"Who still calls the legacy store is unknown: set record.dir"},
		},
		{"outside, alone", "outside", nil, func(s *Situation) { s.Legacy = "" }, Alone, "none", "", 0, "None", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := settled(tt.rules)
			if tt.change != nil {
				tt.change(s)
			}
			if problems := CheckRules(s.Rules, s.Resources, s.Follow != nil); s.Legacy != "" && len(problems) > 0 {
				t.Errorf("start-up refuses these rules: %q", problems)
			}
			r := of(t, New(s), tt.resource)
			if r.State != tt.state || r.Step.Name != tt.step {
				t.Errorf("%s, then %s; want %s, then %s", r.State, r.Step.Name, tt.state, tt.step)
			}
			if got := strings.TrimPrefix(strings.Join(r.Step.Lines, "\n"), "routes:\n"); got != tt.lines {
				t.Errorf("lines\n%s\nwant\n%s", got, tt.lines)
			}
			if len(r.Step.Commands) != tt.commands || r.Step.Title == "" || r.Step.First == nil || r.Step.Restart != (tt.step == "turn_off") {
				t.Errorf("%+v", r.Step)
			}
			now, then, _ := strings.Cut(tt.back, "|")
			if !strings.HasPrefix(r.Back, now) || !strings.HasPrefix(r.Step.Back, then) || (r.Step.Back == "") != (then == "") {
				t.Errorf("the way back: %q, then %q", r.Back, r.Step.Back)
			}
			ok := len(r.Step.First) == len(tt.first)
			for i := range min(len(tt.first), len(r.Step.First)) {
				ok = ok && strings.Contains(r.Step.First[i], tt.first[i])
			}
			if !ok {
				t.Errorf("to be settled before:\n%s\nwant\n%s", strings.Join(r.Step.First, "\n"), strings.Join(tt.first, "\n"))
			}
		})
	}
}

// TestOrder checks that the most called records move first, each before its parts, and everything
// without a route last.
func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		name  string
		usage *recording.Usage
		want  []string
		next  string
	}{
		{"unknown", nil, []string{"products", "stock_items", "orders", "order_comments", "outside"}, "products"},
		{"known", usage(t), []string{"orders", "order_comments", "products", "stock_items", "outside"}, "orders"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := settled(rules())
			s.Usage = tt.usage
			plan := New(s)
			var got []string
			for i := range plan.Resources {
				got = append(got, plan.Resources[i].Name)
			}
			if !slices.Equal(got, tt.want) || plan.Next != tt.next {
				t.Errorf("%s, next %s", got, plan.Next)
			}
		})
	}
	if next := New(settled(rules(whole("products"), reads("stock_items", toLegacy, true)))).Next; next != "stock_items" {
		t.Errorf("next %s, want the first with a step", next)
	}
}

// TestEvidence checks the sums of the counts.
func TestEvidence(t *testing.T) {
	s := settled(rules())
	s.Usage = usage(t)
	s.Shadow = compared(map[string]int64{compare.ShadowSame: 9, compare.Different: 3, compare.Inconclusive: 2, "failed": 1, "dropped": 1}, map[string]int64{"sku": 3})
	s.Shadow.Calls = append(s.Shadow.Calls, compare.ShadowCount{Call: "updateProduct", Outcomes: map[string]int64{compare.ShadowSame: 1}, Last: day(10), SameSince: 1})
	plan := New(s)
	if got := of(t, plan, "orders").Calls; *got != (calls{Requests: 100, Refused: 6, Failed: 4, Legacy: 90, Callers: 1, Last: day(5)}) {
		t.Errorf("calls %+v", got)
	}
	if got := of(t, plan, "order_comments").Calls; *got != (calls{}) {
		t.Errorf("calls of a resource that nobody calls: %+v", got)
	}
	got := of(t, plan, "products").Compared
	if want := (shadowCount{Since: day(7), Same: 10, Different: 3, Unsure: 2, Missed: 2, Fields: got.Fields, SameSince: 5, Last: day(10), LastDifferent: day(8)}); fmt.Sprint(*got) != fmt.Sprint(want) || got.Fields["sku"] != 3 {
		t.Errorf("compared %+v", got)
	}
	if got := of(t, plan, "orders"); got.Compared != nil || got.Swept.Answers != 10 {
		t.Errorf("%+v", got)
	}
	if len(plan.Outside) != 3 || plan.Outside[0].Agent != "PHP-SOAP" {
		t.Errorf("outside %+v", plan.Outside)
	}
}

// TestUnknown checks that missing evidence is reported as unknown, with the command that finds it,
// and that every list is a list in JSON.
func TestUnknown(t *testing.T) {
	plan := New(&Situation{Legacy: "http://old", Rules: rules(reads("products", toLegacy, true)), Resources: parts()})
	all := strings.Join(plan.Unknown, "\n")
	for _, want := range []string{"set record.dir", "run portico import", "--ops", "--sweep --note --config portico.yaml --legacy http://old "} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"first", "commands", "lines", "warnings"} {
		if strings.Contains(string(text), `"`+list+`":null`) {
			t.Errorf("%s is null in %s", list, text)
		}
	}
	if !strings.Contains(string(text), `"outside":null`) {
		t.Error("unknown callers look like none")
	}
	if known := New(settled(rules())); len(known.Unknown) != 1 {
		t.Errorf("unknown: %q, want the usage alone", known.Unknown)
	}
	if alone := New(&Situation{Resources: parts()}); len(alone.Unknown) != 0 || alone.Next != "" {
		t.Errorf("without a legacy store: %+v", alone)
	}
}

// TestJSON checks that the JSON form has the members that the guide lists, whatever is known.
func TestJSON(t *testing.T) {
	s := settled(rules(reads("products", toLegacy, true)))
	s.Usage, s.Follow.Compared, s.Follow.Parked = usage(t), day(1), map[string]int64{"products": 1}
	s.Mirrors, s.Conflicts = map[string]Mirror{"products": {Owner: "legacy", Oldest: day(1)}}, map[string]int64{"kept": 1}
	text, err := json.Marshal(New(s))
	if err != nil {
		t.Fatal(err)
	}
	var plan map[string]any
	if err := json.Unmarshal(text, &plan); err != nil {
		t.Fatal(err)
	}
	products := plan["resources"].([]any)[2].(map[string]any)
	for name, c := range map[string]struct {
		object any
		want   string
	}{
		"plan":     {plan, "conflicts follow import legacy next outside resources sweep unknown warnings"},
		"resource": {products, "back calls compared mirror reads resource shadow state step swept writes"},
		"step":     {products["step"], "back commands first lines name restart title"},
		"calls":    {plan["resources"].([]any)[0].(map[string]any)["calls"], "callers failed last legacy refused requests"},
		"compared": {products["compared"], "different fields last missed same same_since since unsure"},
		"conflict": {plan["conflicts"], "kept"},
		"mirror":   {products["mirror"], "held oldest owner parked turning unknown waiting"},
		"swept":    {products["swept"], "accepted answers different"},
		"import":   {plan["import"], "at database"},
		"follow":   {plan["follow"], "compared lag_seconds parked"},
		"sweep":    {plan["sweep"], "callers candidate complete ended legacy resources sample started"},
		"outside":  {plan["outside"].([]any)[0], "agent first kind last requests"},
	} {
		object, _ := c.object.(map[string]any)
		if got := strings.Join(slices.Sorted(maps.Keys(object)), " "); got != c.want {
			t.Errorf("%s has %s, want %s", name, got, c.want)
		}
	}
}

// TestWarnings checks the warnings beside the steps.
func TestWarnings(t *testing.T) {
	outside := proxy.Rule{Resource: proxy.Outside, To: toPortico}
	other := settled(nil)
	other.Sweep.Legacy = "http://staging"
	if got := New(other).Warnings; len(got) != 1 || !strings.Contains(got[0], "The last sweep has compared http://staging, and the legacy store is at http://old") {
		t.Errorf("%q for a sweep of another shop", got)
	}
	for _, tt := range []struct {
		name  string
		rules proxy.Rules
		want  []string
	}{
		{"none", rules(), nil},
		{"outside too early", rules(outside, whole("products"), whole("stock_items")), []string{"the tokens that Portico gives under /oauth/"}},
		{
			"writes before reads", rules(proxy.Rule{Resource: "products", Calls: proxy.Writes, To: toPortico}, whole("stock_items")),
			[]string{"Clients write products to Portico"},
		},
		{
			"writes of a record without those of its parts", rules(whole("products")),
			[]string{"Portico answers the writes of products, and the legacy store calls of stock_items. One write may change both"},
		},
		{"reads of a record without those of its parts", rules(reads("products", toPortico, false)), nil},
		{"what is only read does not count", rules(whole("orders")), nil},
		{"all moved", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := New(settled(tt.rules)).Warnings
			ok := len(got) == len(tt.want)
			for i := range min(len(got), len(tt.want)) {
				ok = ok && strings.Contains(got[i], tt.want[i])
			}
			if !ok {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestWithRule checks that, whatever the rules are, a new one decides about its resource and calls,
// and that all other requests go where they went.
func TestWithRule(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	resources := []string{proxy.Everything, proxy.Outside, "products", "orders"}
	pick := func() proxy.Rule {
		return proxy.Rule{
			Resource: resources[random.IntN(len(resources))], Calls: proxy.Calls(random.IntN(3)), To: proxy.Target(random.IntN(2)), Shadow: random.IntN(2) == 0,
		}
	}
	decides := func(rules proxy.Rules, resource string, readOnly bool) proxy.Rule {
		address := contract.Address{ReadOnly: readOnly}
		if resource != proxy.Outside {
			address.Route = &contract.Route{Resource: resource}
		}
		return rules.For(&address)
	}
	for range 5000 {
		var before proxy.Rules
		for range random.IntN(6) {
			rule := pick()
			if !slices.ContainsFunc(before, func(r proxy.Rule) bool { return r.Resource == rule.Resource && r.Calls == rule.Calls }) {
				before = append(before, rule)
			}
		}
		rule := pick()
		rule.Resource = resources[1+random.IntN(len(resources)-1)]
		after := withRule(before, rule)
		for _, resource := range resources[1:] {
			for _, readOnly := range []bool{true, false} {
				want := decides(before, resource, readOnly)
				if resource == rule.Resource && (rule.Calls == proxy.All || readOnly == (rule.Calls == proxy.Reads)) {
					want = rule
				}
				if got := decides(after, resource, readOnly); got != want {
					t.Fatalf("%+v with %+v: %s, reads %t: %+v, want %+v", before, rule, resource, readOnly, got, want)
				}
			}
		}
	}
}

// TestPlanEndsFollowing checks the step that moves writes which cannot be mirrored, while the store
// follows the legacy store: following ends with it.
func TestPlanEndsFollowing(t *testing.T) {
	s := settled(rules(reads("products", toPortico, false), reads("stock_items", toPortico, false)))
	s.NoMirror = true
	step := of(t, New(s), "products").Step
	if step.Name != "move_writes" || !step.Restart || len(step.First) == 0 || !strings.HasPrefix(step.First[len(step.First)-1], "Remove follow.dsn") {
		t.Errorf("%+v", step)
	}
}
