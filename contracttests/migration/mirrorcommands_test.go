//go:build linux

package migration_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// openMirrored opens the demo store that the environment names, with all writes of products,
// stock items and customers mirrored, and handed over in epoch 2.
func openMirrored(t *testing.T, dsn string) (*sqlstore.DB, *sqlstore.RecordAdapter) {
	t.Helper()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: dsn, SecretKey: apptest.SecretKey})
	p, owners := outbox.Process{ID: "test", Wishes: map[adapter.Resource]bool{}, Known: map[adapter.Resource]int64{}}, db.WriteOwners()
	resources := []adapter.Resource{adapter.Products, adapter.StockItems, adapter.Customers}
	for _, r := range resources {
		p.Wishes[r], p.Known[r] = true, 1
	}
	_, err := owners.Announce(t.Context(), p, time.Hour)
	for _, r := range resources {
		err = errors.Join(err, owners.Begin(t.Context(), r, true), owners.Complete(t.Context(), r, 1))
	}
	if err = errors.Join(err, owners.Leave(t.Context(), p.ID)); err != nil {
		t.Fatal(err)
	}
	return db, db.Adapter().Mirrored()
}

// setAs sets a text of a record as a client does.
func setAs(t *testing.T, records *sqlstore.RecordAdapter, r adapter.Resource, key adapter.Key, view int64, name, value string) {
	t.Helper()
	store, err := records.Store(r)
	if err != nil {
		t.Fatal(err)
	}
	err = store.Update(t.Context(), &adapter.UpdateParams{Key: key, StoreID: view, Change: func(current adapter.Record) (adapter.Record, error) {
		change := adapter.NewRecord(current.Schema)
		change.Set(name, adapter.TextValue(value))
		return change, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// withoutTimes returns the lines of a table without times and alignment.
func withoutTimes(table string) (lines []string) {
	for line := range strings.Lines(table) {
		lines = append(lines, strings.Join(strings.Fields(anyTime.ReplaceAllString(line, "T")), " "))
	}
	return lines
}

// TestMirrorCommands lists and resolves the changes in an outbox.
func TestMirrorCommands(t *testing.T) {
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	empty := func(want string, arguments ...string) {
		t.Helper()
		if got := commands.MustRun(t, append([]string{"mirror"}, arguments...)...); strings.TrimSpace(got) != want {
			t.Errorf("portico mirror %s: %q, want %q", strings.Join(arguments, " "), got, want)
		}
	}
	empty("the legacy store has been told of everything", "list")
	empty("nothing is parked", "list", "--parked")
	empty("no value is held", "list", "--held")
	empty("there is nothing more", "list", "--after", "7")
	empty("[]", "list", "--json")

	db, records := openMirrored(t, "sqlite:"+path)
	setAs(t, records, adapter.StockItems, 1, 0, "qty", "7.0000")
	setAs(t, records, adapter.Products, 2, 2, "name", "Nom")
	setAs(t, records, adapter.StockItems, 3, 0, "qty", "9.0000")
	setAs(t, records, adapter.Customers, 1, 0, "password_hash", "x")
	customers, err := records.Store(adapter.Customers)
	if err == nil {
		err = customers.Delete(t.Context(), &adapter.DeleteParams{Key: 2})
	}
	if err != nil {
		t.Fatal(err)
	}
	box := db.Outbox()
	all, err := box.Entries(t.Context(), coordination.EntryFilter{Limit: 10})
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	for i, f := range map[int]outbox.Failure{0: {Reason: "refused", Parked: true, Retry: time.Now().Add(time.Hour)}, 1: {Reason: "the legacy store answers 500", Retry: time.Now()}} {
		if err := box.Failed(t.Context(), all[i], f); err != nil {
			t.Fatal(err)
		}
	}
	id, err := box.BeginCreate(t.Context(), outbox.Create{Resource: adapter.CustomerAddresses, Root: outbox.Root{Resource: adapter.Customers, Key: 1}})
	if err == nil {
		err = box.UnknownCreate(t.Context(), id, "the reply was lost")
	}
	if err != nil {
		t.Fatal(err)
	}

	header := "ID STATE RECORD CHANGES SINCE ATTEMPTS REASON"
	unknown, held := "c1 unknown customer_addresses created T 0 the reply was lost", "4 held customers 1 password_hash T 0 the legacy store's interface has no form for it"
	parked, failed := "1 parked stock_items 1 qty T 1 refused", "2 waiting products 2 at store view 2 name T 1 the legacy store answers 500"
	waiting, deleted := "3 waiting stock_items 3 qty T 0", "5 waiting customers 2 deleted T 0"
	for _, tt := range []struct {
		arguments string
		want      []string
	}{
		{"", []string{header, unknown, parked, failed, waiting, deleted}},
		{"--parked", []string{header, unknown, parked}},
		{"--held", []string{header, held}},
		{"--limit 2", []string{header, unknown, parked, failed, "there may be more: add --after 2"}},
		{"--limit 2 --after 2", []string{header, waiting, deleted, "there may be more: add --after 5"}},
		{"--limit 2 --after 5", []string{"there is nothing more"}},
		{"--parked --after 1", []string{"there is nothing more"}},
	} {
		if diff := cmp.Diff(tt.want, withoutTimes(commands.MustRun(t, append([]string{"mirror", "list"}, strings.Fields(tt.arguments)...)...))); diff != "" {
			t.Errorf("portico mirror list %s: want -, got +:\n%s", tt.arguments, diff)
		}
	}
	var listed []struct {
		ID, State    string
		Attempts     int
		Since, Retry time.Time
	}
	apptest.Parse(t, commands.MustRun(t, "mirror", "list", "--json"), &listed)
	var ids []string
	for _, e := range listed {
		ids = append(ids, e.ID)
		if e.Since.IsZero() || e.Retry.IsZero() != (e.State != "parked" && e.Attempts == 0) {
			t.Errorf("%+v", e)
		}
	}
	if diff := cmp.Diff([]string{"c1", "1", "2", "3", "5"}, ids); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}

	for _, tt := range []struct{ arguments, want string }{
		{"retry x", `"x" is no id: portico mirror list shows ids such as 17 or c7`},
		{"retry 0", `"0" is no id`},
		{"retry 1 c1", "is never created again: look for it in the legacy store, and skip it"},
		{"skip", "requires at least 1 arg"},
		{"skip 1 y", `"y" is no id`},
		{"list 1", "unknown command"},
		{"list --parked --held", "if any flags in the group [parked held] are set none of the others can be"},
		{"list --limit 0", "--limit must be at least 1"},
		{"conflicts --limit -1", "--limit must be at least 1"},
	} {
		if _, _, err := commands.Run(t, append([]string{"mirror"}, strings.Fields(tt.arguments)...)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("portico mirror %s: %v, want %q", tt.arguments, err, tt.want)
		}
	}
	for _, tt := range []struct{ arguments, want string }{
		{"retry 2 99", "0 changes are tried again"}, // none of which is a dead letter
		{"retry 1", "1 changes are tried again"},
		{"retry", "0 changes are tried again"},
		{"skip 1 c1 99", "2 of 3 are given up"},
		{"list --parked", "nothing is parked"},
	} {
		empty(tt.want, strings.Fields(tt.arguments)...)
	}
	var counted struct{ Retried, Skipped *int64 }
	apptest.Parse(t, commands.MustRun(t, "mirror", "retry", "--json"), &counted)
	apptest.Parse(t, commands.MustRun(t, "mirror", "skip", "4", "2", "--json"), &counted)
	if counted.Retried == nil || *counted.Retried != 0 || counted.Skipped == nil || *counted.Skipped != 2 {
		t.Errorf("%+v", counted)
	}
	if diff := cmp.Diff([]string{header, waiting, deleted}, withoutTimes(commands.MustRun(t, "mirror", "list"))); diff != "" {
		t.Errorf("in the end: want -, got +:\n%s", diff)
	}
}

// TestMirrorConflicts lists values that both sides have changed.
func TestMirrorConflicts(t *testing.T) {
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	if got := withoutTimes(commands.MustRun(t, "mirror", "conflicts")); !cmp.Equal(got, []string{"AT RECORD ATTRIBUTE PORTICO LEGACY STORE OUTCOME", "0 of 0"}) {
		t.Errorf("%q", got)
	}
	db := apptest.OpenStore(t, "sqlite", path)
	for i, c := range []outbox.Conflict{
		{Record: outbox.Record{Resource: adapter.Products, Key: 1, StoreID: 2}, Attribute: "name", Ours: "Nom", Theirs: strings.Repeat("é", 50), Outcome: outbox.Kept},
		{Record: outbox.Record{Resource: adapter.StockItems, Key: 3}, Attribute: "qty", Ours: "7.0000", Theirs: "2.0000", Outcome: outbox.Added},
		{Record: outbox.Record{Resource: adapter.Customers, Key: 2}, Outcome: outbox.Dropped},
	} {
		apptest.Execute(t, db, fmt.Sprintf("INSERT INTO outbox_conflict (resource, record_key, store_id, attribute, ours, theirs, outcome, noted_ms) VALUES ('%s', %d, %d, '%s', '%s', '%s', '%s', %d)",
			c.Resource, c.Key, c.StoreID, c.Attribute, c.Ours, c.Theirs, c.Outcome, 1_700_000_000_000+i))
	}
	want := []string{"AT RECORD ATTRIBUTE PORTICO LEGACY STORE OUTCOME", `T customers 2 "" "" dropped`, `T stock_items 3 qty "7.0000" "2.0000" added`, "2 of 3"}
	if diff := cmp.Diff(want, withoutTimes(commands.MustRun(t, "mirror", "conflicts", "--limit", "2"))); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	var printed struct {
		Total     int
		Conflicts []struct {
			Store   int64
			OldShop string `json:"old_shop"`
			Outcome string
		}
	}
	apptest.Parse(t, commands.MustRun(t, "mirror", "conflicts", "--json"), &printed)
	if last := printed.Conflicts[len(printed.Conflicts)-1]; printed.Total != 3 || len(printed.Conflicts) != 3 || last.Store != 2 || last.OldShop != strings.Repeat("é", 50) || last.Outcome != "kept" {
		t.Errorf("%+v", printed)
	}
	if got := commands.MustRun(t, "mirror", "conflicts"); !strings.Contains(got, strconv.Quote(strings.Repeat("é", 40))) {
		t.Errorf("a long value is not cut:\n%s", got)
	}
}

// TestMirrorRefused starts with configurations in which mirroring cannot work. The command ends
// with all faults at once.
func TestMirrorRefused(t *testing.T) {
	const reads, mirrored, outside = "{resource: all, calls: reads, to: portico}", "{resource: all, calls: writes, to: portico, mirror: true}", "{resource: outside, to: legacy}"
	consumer := apptest.LegacyConsumer()
	complete := append([]string{"PORTICO_LEGACY_URL=http://127.0.0.1:1", "PORTICO_FOLLOW_DSN=mysql:u:swordfish@tcp(127.0.0.1:1)/d"}, consumer...)
	without := func(names ...string) (environ []string) {
		for _, entry := range complete {
			isOne := false
			for _, name := range names {
				isOne = isOne || strings.HasPrefix(entry, name+"=")
			}
			if !isOne {
				environ = append(environ, entry)
			}
		}
		return environ
	}
	for _, tt := range []struct {
		name    string
		routes  string
		environ []string
		want    []string
	}{
		{"no legacy store", reads + "," + mirrored, without("PORTICO_LEGACY_URL"), []string{"legacy.url", "must be set, because routes sends requests of all there"}},
		{"no old database", reads + "," + mirrored + "," + outside, without("PORTICO_FOLLOW_DSN"),
			[]string{"must be set, because routes mirrors the writes of all: Portico reads from the legacy store's database what has become of them"}},
		{"no consumer", reads + "," + mirrored + "," + outside, without("PORTICO_LEGACY_CONSUMER_KEY", "PORTICO_LEGACY_TOKEN"),
			[]string{"because routes mirrors writes: Portico repeats them as an Admin of the legacy store"}},
		{"nothing of both", mirrored, without("PORTICO_FOLLOW_DSN", "PORTICO_LEGACY_TOKEN_SECRET"), []string{"because routes mirrors writes", "because routes mirrors the writes of all"}},
		{"tokens", reads + "," + mirrored, complete, []string{"outside must go to legacy as long as any call or mirrored write does"}},
		{"reads", "{resource: all, calls: reads, to: portico, mirror: true}", complete, []string{"mirror must not be true but for writes to portico"}},
		{"outside", "{resource: outside, calls: writes, to: portico, mirror: true}", complete, []string{"mirror must not be true for outside"}},
		{"to the legacy store", "{resource: all, calls: writes, to: legacy, mirror: true}", complete, []string{"mirror must not be true but for writes to portico"}},
		{"without mirror", reads + ",{resource: stock_items, calls: writes, to: portico}," + outside, complete, []string{"portico answers the writes of stock_items without mirror: true"}},
		{"reads that show it and more", "{resource: all, to: legacy},{resource: stock_items, calls: reads, to: portico},{resource: stock_items, calls: writes, to: portico, mirror: true},{resource: customers, calls: writes, to: portico}", complete,
			[]string{"portico answers the writes of stock_items, and the legacy store the reads of products", "portico answers the writes of customers without mirror: true"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := apptest.Launch(t, append(tt.environ, "PORTICO_SQL_DSN=sqlite:"+t.TempDir()+"/store.db"), "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--config", apptest.NewFile(t, "portico.yaml", "routes: ["+tt.routes+"]\n"))
			if code := p.Wait(t); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			text := p.Stderr.Text()
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s\nwant %q", text, want)
				}
			}
			if strings.Contains(text, "swordfish") {
				t.Errorf("the password shows: %s", text)
			}
		})
	}
}
