package importer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestIDs maps the customers of a store to the customers of a backend that has some of them,
// with all commands of "portico ids".
func TestIDs(t *testing.T) {
	t.Parallel()
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	epoch := ""
	// Replies that running processes have cached are invalid after these commands.
	endsCaches := func(command string, want bool) {
		t.Helper()
		before := epoch
		if err := apptest.OpenStore(t, "sqlite", path).QueryRowContext(t.Context(), "SELECT epoch FROM store_state").Scan(&epoch); err != nil || (epoch != before) != want {
			t.Errorf("%s: the epoch of the store was %q and is %q, %v", command, before, epoch, err)
		}
	}
	endsCaches("seed", true)
	backend := apptest.NewPeople(
		apptest.Person{ID: "old-ada", Email: "ada@example.com", Name: "Ada Augusta"}, apptest.Person{ID: "old-ben", Email: "ben@example.com", Name: "Ben"}, apptest.Person{ID: "eve", Email: "eve@example.com", Name: "Eve"},
	)
	server := httptest.NewServer(backend)
	t.Cleanup(server.Close)
	commands = commands.With("PORTICO_REST_URL="+server.URL, "PORTICO_REST_MAPPING="+apptest.NewFile(t, "people.yaml", apptest.PeopleMapping))

	_, withBackend := apptest.NewStore(t, apptest.SecretKey)
	second := httptest.NewServer(apptest.NewPeople())
	t.Cleanup(second.Close)
	withBackend = withBackend.With("PORTICO_ADAPTER=rest", "PORTICO_REST_URL="+second.URL, "PORTICO_REST_MAPPING="+apptest.NewFile(t, "people.yaml", apptest.PeopleMapping))
	if got := withBackend.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil)); !strings.HasSuffix(got, " records stored\n4 records are at the backend, with their parts\n") {
		t.Errorf("seed with a backend prints %q", got)
	}

	if _, _, err := commands.Run(t, "ids", "check"); err == nil || !strings.Contains(err.Error(), "adapter is sql") {
		t.Errorf("without a backend: %v", err)
	}
	commands = commands.With("PORTICO_ADAPTER=rest")
	check := func(want ...string) {
		t.Helper()
		out, _, err := commands.Run(t, "ids", "check", "--json")
		var got []string
		for line := range strings.Lines(out) {
			var f replica.Finding
			apptest.Parse(t, line, &f)
			got = append(got, fmt.Sprintf("%s %d %s", f.Kind, f.Key, f.ID))
		}
		if !slices.Equal(got, want) || (err == nil) != (len(want) == 0) {
			t.Errorf("check: %q, %v\nwant %q", got, err, want)
		}
	}
	check("not_mapped 1 ", "not_mapped 2 ", "not_mapped 3 ", "not_mapped 4 ", "no_legacy_id 0 old-ada", "no_legacy_id 0 old-ben", "no_legacy_id 0 eve")

	const header = "resource,legacy_id,backend_id\n"
	broken := apptest.NewFile(t, "broken.csv", header+"customers,1,old-ada\ncustomers,99,old-ben\norders,1,x\n")
	if _, _, err := commands.Run(t, "ids", "import", broken); err == nil || !strings.Contains(err.Error(), "nothing is stored:\nline 3: the database has no record customers 99\nline 4:") {
		t.Errorf("a broken file: %v", err)
	}
	if _, _, err := commands.Run(t, "ids", "import", "missing.csv"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing file: %v", err)
	}
	endsCaches("import of a broken file, which is found too late", true)
	pairs := apptest.NewFile(t, "pairs.csv", header+"customers,1,old-ada\ncustomers,2,old-ben\n")
	for _, c := range []struct{ arguments, want string }{
		{"--dry-run", "2 pairs would be stored, 0 are known\n"}, {"--dry-run=false", "2 pairs stored, 0 were known\n"}, {"--dry-run=false", "0 pairs stored, 2 were known\n"},
	} {
		if got := commands.MustRun(t, "ids", "import", pairs, c.arguments); got != c.want {
			t.Errorf("import %s prints %q, want %q", c.arguments, got, c.want)
		}
		endsCaches("import "+c.arguments, c.arguments != "--dry-run")
	}
	check("not_mapped 3 ", "not_mapped 4 ", "no_legacy_id 0 eve")

	if _, _, err := commands.Run(t, "ids", "push", "--at-once", "0"); err == nil || err.Error() != "--at-once 0: want 1 to 32" {
		t.Errorf("no record at a time: %v", err)
	}
	if got := commands.MustRun(t, "ids", "push"); !strings.HasPrefix(got, "4 records are at the backend") {
		t.Errorf("push prints %q", got)
	}
	endsCaches("push", true)
	check("no_legacy_id 0 eve")
	if len(backend.Persons()) != 5 || backend.Persons()[4].Email != "dot@example.com" || *backend.Persons()[4].Number != 4 {
		t.Errorf("the backend has %+v", backend.Persons())
	}

	backend.Remove("eve")
	if got := commands.MustRun(t, "ids", "check"); got != "nothing found\n" {
		t.Errorf("check prints %q", got)
	}
	backend.Remove("old-ben")
	out, advice, err := commands.Run(t, "ids", "check")
	if want := "gone_at_backend customers 2 backend id \"old-ben\"\n"; out != want || err == nil || err.Error() != "1 found" || !strings.Contains(advice, "ids forget") {
		t.Errorf("check prints %q, %q, %v; want %q", out, advice, err, want)
	}
	out, _, err = commands.Run(t, "ids", "forget", "customers", "1", "2", "77")
	if out != "customers 2 is forgotten\n" || err == nil || err.Error() != "customers 1 is not removed: the backend still has it\ncustomers 77 is not removed: it has no ID mapping" {
		t.Errorf("forget prints %q, %v", out, err)
	}
	endsCaches("forget", true)
	if _, _, err := commands.Run(t, "ids", "forget", "orders", "1"); err == nil || !strings.Contains(err.Error(), "the backend does not hold such records") {
		t.Errorf("forget a resource that the backend does not hold: %v", err)
	}
	if _, _, err := commands.Run(t, "ids", "forget", "customers", "x"); err == nil || !strings.Contains(err.Error(), "want digits") {
		t.Errorf("forget an invalid id: %v", err)
	}
	check()

	server.Close()
	if _, _, err := commands.Run(t, "ids", "check"); err == nil || apptest.ExitCode(err) != 2 {
		t.Errorf("with the backend down: %v", err)
	}
}

// TestUnreadableRecords counts the records that cannot be read, by reason.
func TestUnreadableRecords(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	negative := int64(-1)
	server := httptest.NewServer(apptest.NewPeople(
		apptest.Person{ID: "a", Number: &negative}, apptest.Person{ID: "b", Email: "b@example.com", Name: "none"}, apptest.Person{ID: "c", Number: &negative}, apptest.Person{ID: "d", Email: "d@example.com"},
	))
	t.Cleanup(server.Close)
	mapping := strings.Replace(apptest.PeopleMapping, "read: '{", `read: 'if .name == "none" then error("no name") else . end | {`, 1)
	commands = commands.With("PORTICO_ADAPTER=rest", "PORTICO_REST_URL="+server.URL, "PORTICO_REST_MAPPING="+apptest.NewFile(t, "people.yaml", mapping))
	out, summary, err := commands.Run(t, "ids", "check")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := range []string{`no_legacy_id    customers backend id "d"`, `unreadable      customers: 2, such as backend id "a": `, `unreadable      customers: 1, such as backend id "b": `} {
		if len(lines) != 3 || !strings.HasPrefix(lines[i], want) {
			t.Errorf("printed %q, want line %d to begin with %q", lines, i, want)
		}
	}
	if err == nil || err.Error() != "4 found" || !strings.Contains(summary, "3 unreadable: ") {
		t.Errorf("the check ends with %v, and sums up %q", err, summary)
	}
	out, _, _ = commands.Run(t, "ids", "check", "--json")
	var counted []int
	for line := range strings.Lines(out) {
		var f struct{ Records int }
		apptest.Parse(t, line, &f)
		counted = append(counted, f.Records)
	}
	if !slices.Equal(counted, []int{0, 0, 0, 0, 2, 1}) {
		t.Errorf("the findings count %v records in\n%s", counted, out)
	}
}

// TestIncompleteList says that a backend that lists a customer twice may leave out another one.
func TestIncompleteList(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	ada := apptest.Person{ID: "ada", Email: "ada@example.com"}
	server := httptest.NewServer(apptest.NewPeople(ada, apptest.Person{ID: "ben", Email: "ben@example.com"}, ada))
	t.Cleanup(server.Close)
	commands = commands.With("PORTICO_ADAPTER=rest", "PORTICO_REST_URL="+server.URL, "PORTICO_REST_MAPPING="+apptest.NewFile(t, "people.yaml", apptest.PeopleMapping))
	out, summary, err := commands.Run(t, "ids", "check")
	if want := `incomplete_list customers: "3 records are listed, 1 of them twice: others may be missing"` + "\n"; !strings.HasSuffix(out, want) {
		t.Errorf("printed %q, want %q at its end", out, want)
	}
	if err == nil || !strings.Contains(summary, "1 incomplete_list: ") {
		t.Errorf("the check ends with %v, and sums up %q", err, summary)
	}
}

// TestImportIntoBackend imports customers into a store with a backend, which gets them, too.
func TestImportIntoBackend(t *testing.T) {
	t.Parallel()
	from, old := magento1test.NewShop(t, magento1test.Demo, "")
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	backend, settings := apptest.StartPeople(t)
	commands = commands.With(settings...)
	arguments := []string{"import", "--from", from, "websites", "customer-groups", "customers"}
	commands.MustRun(t, append(arguments, "--dry-run")...)
	if len(backend.Persons()) > 0 {
		t.Errorf("a dry run creates %+v", backend.Persons())
	}
	created := 0
	backend.Answer(func(apptest.Person) int {
		if created == 2 {
			return http.StatusServiceUnavailable
		}
		created++
		return 0
	})
	printed, _, err := commands.Run(t, arguments...)
	if err == nil || !strings.Contains(err.Error(), "push customers 3: ") || !strings.Contains(printed, "2 records are at the backend, with their parts\n") || !strings.Contains(printed, "\ncustomers ") {
		t.Errorf("the backend goes away: %v\nit prints %s", err, printed)
	}
	backend.Answer(nil)
	if printed := commands.MustRun(t, arguments...); !strings.Contains(printed, "4 records are at the backend, with their parts\n") || len(backend.Persons()) != 4 {
		t.Errorf("it prints %s\nthe backend has %+v", printed, backend.Persons())
	}
	apptest.Execute(t, old, "INSERT INTO customer_entity (entity_id, entity_type_id, website_id, email, group_id) SELECT 70, entity_type_id, 1, 'new@example.com', 1 FROM customer_entity WHERE entity_id = 1")
	if printed := commands.MustRun(t, arguments...); !strings.Contains(printed, "5 records are at the backend") || len(backend.Persons()) != 5 || *backend.Persons()[4].Number != 70 {
		t.Errorf("it prints %s\nthe backend has %+v", printed, backend.Persons())
	}

	name := func(id int, value string) string {
		return fmt.Sprintf("UPDATE customer_entity_varchar SET value = '%s' WHERE entity_id = %d AND attribute_id = (SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'firstname' AND entity_type_id = (SELECT entity_type_id FROM eav_entity_type WHERE entity_type_code = 'customer'))", value, id)
	}
	apptest.Execute(t, old, name(1, "Changed"), name(2, "Refused"), "DELETE FROM customer_entity WHERE entity_id = 70")
	backend.Answer(func(one apptest.Person) int {
		if one.Name == "Refused" {
			return http.StatusUnprocessableEntity
		}
		return 0
	})
	update := append(slices.Clone(arguments), "--update", "--allow-removals", "1", "--json")
	expect := func(when, want string, reasons ...string) {
		t.Helper()
		var report apptest.Report
		apptest.Parse(t, commands.MustRun(t, update...), &report)
		customers := report.Resources[slices.IndexFunc(report.Resources, func(r *importer.Counts) bool { return r.Resource == "customers" })]
		var got []string
		for _, s := range customers.Skipped {
			got = append(got, fmt.Sprint(s.Reason, ": ", s.IDs))
		}
		if report.Counts()["customers"] != want || !slices.Equal(got, reasons) {
			t.Errorf("%s: %s, %q; want %s, %q", when, report.Counts()["customers"], got, want, reasons)
		}
	}
	expect("an update", "0 created, 1 changed, 1 removed, 1 skipped", "the backend refuses it: [2]")
	names := map[int64]string{}
	for _, one := range backend.Persons() {
		names[*one.Number] = one.Name
	}
	if len(names) != 4 || names[1] != "Changed" || names[2] == "Refused" || names[70] != "" {
		t.Errorf("the backend has %v", names)
	}
	store := apptest.OpenStore(t, "sqlite", path)
	noted := 0 // changed records, whose cached replies are invalid
	if err := store.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM import_change WHERE resource = 'customers' AND record_key IN (1, 70)").Scan(&noted); err != nil || noted != 2 {
		t.Errorf("%d records that cached replies may show are noted as changed (%v), want the changed and the removed one", noted, err)
	}
	backend.Answer(nil)
	expect("the next update", "0 created, 1 changed, 0 removed, 0 skipped")
	expect("another update", "")
	if out := commands.MustRun(t, "ids", "check"); out != "nothing found\n" {
		t.Error(out)
	}
}

// TestIDsHelp checks that the help explains every kind of finding.
func TestIDsHelp(t *testing.T) {
	help := apptest.MustRun(t, "ids", "check", "--help")
	for _, kind := range []replica.Kind{
		replica.NotMapped, replica.NoBackendID, replica.MissingAtBackend, replica.MissingInReplica, replica.NoLegacyID, replica.DuplicateLegacyID, replica.UnresolvedWrite, replica.UnreadableDocument, replica.LeftOut, replica.IncompleteList,
	} {
		if !strings.Contains(help, "\n  "+string(kind)+" ") {
			t.Errorf("%s is not explained", kind)
		}
	}
}
