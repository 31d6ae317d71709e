package migration_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// recordingSettings returns the settings that record every exchange to dir.
func recordingSettings(dir string) []string {
	return []string{"PORTICO_RECORD_DIR=" + dir, "PORTICO_RECORD_SAMPLE=1", "PORTICO_RECORD_PER_SECOND=99999"}
}

// startRecording serves the demo store, and records every exchange to dir. Stopping the server writes
// the last ones.
func startRecording(t *testing.T, dir string, environ ...string) *apptest.Demo {
	t.Helper()
	return apptest.StartDemo(t, "magento", append(recordingSettings(dir), environ...)...)
}

// loadRecorded returns the exchanges that the contract suite reads from a folder.
func loadRecorded(t *testing.T, dir string) []contracttests.Exchange {
	t.Helper()
	loaded, err := contracttests.Load(os.DirFS(filepath.Join(dir, recording.ExchangesFolder)))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// TestRecordedFilesAreMasked replays recorded exchanges, outside nightly runs one in five, through a server
// that records everything, and checks that the suite can read the files and that they contain none of
// the demo store's sensitive values.
func TestRecordedFilesAreMasked(t *testing.T) {
	t.Parallel()
	known := apptest.Exchanges(t)
	cases := apptest.SampleExchanges(t, known, 5)
	dir := t.TempDir()
	t.Run("serve", func(t *testing.T) {
		server := startRecording(t, dir)
		defer server.Stop(t)
		target := server.Target(t)
		// First all records with personal data, in every format; then every request of the
		// recordings. Their replies need not be the recorded ones, so the store is not reset each
		// time.
		for _, path := range []string{"/customers", "/customers/1/addresses", "/customers/2/addresses", "/orders", "/orders/1/addresses", "/orders/1/comments"} {
			for _, accept := range []string{"application/json", "text/xml", "text/plain"} {
				exchange := contracttests.Exchange{Name: path, Steps: []contracttests.Step{{As: contracttests.Admin, Method: http.MethodGet, Path: path, Accept: &accept}}}
				recorded, err := contracttests.Record(t.Context(), target, []contracttests.Exchange{exchange})
				if err != nil || recorded[0].Steps[0].Response.Status != http.StatusOK {
					t.Fatalf("%s in %s: %+v, %v", path, accept, recorded, err)
				}
			}
		}
		target.Reset = nil
		if got, err := contracttests.ReplayAll(t.Context(), target, cases, nil); err != nil || len(got) != len(cases) {
			t.Fatalf("%d of %d were replayed: %v", len(got), len(cases), err)
		}
	})
	statuses, bodies := map[int]int{}, 0
	for _, c := range loadRecorded(t, dir) {
		statuses[c.Steps[0].Response.Status]++
		if c.Steps[0].Response.Body != "{{any}}" {
			bodies++
		}
	}
	replies, rejected, shown := 150, 0, 300 // of any sample
	if len(cases) == len(known) {
		replies, rejected, shown = 700, 30, 1500
	}
	if statuses[200] < replies || statuses[401] < rejected || bodies < shown {
		t.Errorf("statuses %v, %d bodies recorded", statuses, bodies)
	}

	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		// Undo the escapes of the formats.
		all.WriteString(strings.NewReplacer(`\\/`, "/", `\"`, `"`, `\\n`, "\n", `\n`, "\n", "&amp;", "&", "+", " ").Replace(contract.FormDecode(string(text))))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	recorded := all.String()
	for what, values := range sensitiveValues(t) {
		for _, value := range values {
			if at := wordIndex(recorded, value); at >= 0 {
				t.Errorf("%s %q is recorded: …%s…", what, value, recorded[max(0, at-150):min(len(recorded), at+len(value)+50)])
			}
		}
	}
}

// wordIndex returns the index of value in text as a separate word, or -1.
func wordIndex(text, value string) int {
	for from := 0; ; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return -1
		}
		at += from
		from = at + 1
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		behind, _ := utf8.DecodeRuneInString(text[at+len(value):])
		if !contract.IsWordRune(before) && !contract.IsWordRune(behind) {
			return at
		}
	}
}

// sensitiveValues returns the values of the demo store that are secret or identify a person, by
// field, except values that are so short that a mask may be equal.
func sensitiveValues(t *testing.T) map[string][]string {
	t.Helper()
	data := demotest.Data(t)
	found := map[string][]string{"secret": {data.Consumer.Key, data.Consumer.Secret, data.Verifier}}
	add := func(what, value string) {
		if long := len(strings.Trim(value, " 0123456789-")) >= 5 || len(value) >= 8; long {
			found[what] = append(found[what], value)
		}
	}
	for _, token := range data.Tokens {
		found["secret"] = append(found["secret"], token.Token, token.Secret)
	}
	for _, password := range data.Passwords {
		add("password", password)
	}
	fields := contract.StandardFields()
	for resource, table := range map[adapter.Resource]*contract.FieldTable{
		adapter.Customers: fields.Customers, adapter.CustomerAddresses: fields.CustomerAddresses, adapter.Orders: fields.Orders,
		adapter.OrderAddresses: fields.OrderAddresses, adapter.OrderComments: fields.OrderComments,
	} {
		for _, record := range data.Records[resource] {
			for _, field := range table.Fields {
				if !field.Private() || field.Attribute == "" {
					continue
				}
				value := record.Get(field.Attribute)
				for _, text := range append(value.Texts(), strings.Split(value.Text(), "\n")...) {
					add(string(resource)+"."+field.Name, text)
				}
			}
		}
	}
	for _, what := range []string{"customers.email", "customer_addresses.street", "orders.remote_ip", "order_addresses.telephone", "order_comments.comment", "password"} {
		if len(found[what]) == 0 {
			t.Fatalf("the demo store has no %s to look for: %v", what, found)
		}
	}
	return found
}

// TestRecordedExchangesHold checks that recordings keep everything else byte for byte, so
// that a server can be compared with them.
func TestRecordedExchangesHold(t *testing.T) {
	dir := t.TempDir()
	paths := []string{"/products", "/products?limit=2&order=sku&dir=desc", "/products/1?attrs=sku,name,url,image_url", "/products/1/images", "/products/99", "/none", "/customers",
		"/products?filter%5B1%5D[attribute]=name&filter[1][like]=%25Mug%25&attrs=sku,name"}
	t.Run("record", func(t *testing.T) {
		server := startRecording(t, dir)
		defer server.Stop(t)
		for _, path := range paths {
			for _, accept := range []string{"application/json", "text/xml", "text/plain"} {
				apptest.Send(t, http.MethodGet, server.Contract+"/api/rest"+path, "", "Accept", accept)
			}
		}
	})
	recorded := loadRecorded(t, dir)
	if len(recorded) != 3*len(paths) {
		t.Fatalf("%d of %d exchanges were written", len(recorded), 3*len(paths))
	}
	if got := contracttests.Replay(t, apptest.StartDemo(t, "magento").Target(t), recorded); got.Passed != len(recorded) {
		t.Errorf("got %+v", got)
	}
}

// TestRecordingCannotBeWritten checks that a server does not start if it cannot create the
// folder, and keeps answering if the folder disappears.
func TestRecordingCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	t.Run("serve", func(t *testing.T) {
		server := startRecording(t, dir)
		defer server.Stop(t)
		get := func() {
			if got := apptest.NewClient(t, server.Contract, "").Get(t, "/products"); got.Status != http.StatusOK {
				t.Errorf("status %d", got.Status)
			}
		}
		get()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		apptest.WriteFile(t, dir, "")
		get()
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		get()
	})
	if got := len(loadRecorded(t, dir)); got != 3 {
		t.Errorf("%d exchanges are in files", got)
	}
	file := apptest.NewFile(t, "file", "")
	_, _, err := apptest.Run(t, append([]string{"serve", "--demo", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--config"}, apptest.NewFile(t, "portico.yaml", "record: {dir: "+filepath.Join(file, "x")+"}\n"))...)
	if err == nil || !strings.Contains(err.Error(), "set record.dir") {
		t.Errorf("error %v", err)
	}
}

// TestRecordingKilled checks that the files of a killed server can be read.
func TestRecordingKilled(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	dir := t.TempDir()
	p := apptest.Start(t, append(recordingSettings(dir), "PORTICO_LOG_LEVEL=error"), "--demo")
	files := func() (exchanges, counts []string) {
		exchanges, _ = filepath.Glob(filepath.Join(dir, recording.ExchangesFolder, "*.json"))
		counts, _ = filepath.Glob(filepath.Join(dir, "usage-*.json"))
		return exchanges, counts
	}
	testenv.Await(t, "files", func() bool {
		for range 50 {
			apptest.Send(t, http.MethodGet, p.Contract+"/api/rest/products", "")
		}
		exchanges, counts := files()
		return len(exchanges) > 0 && len(counts) > 0
	})
	if written := apptest.ScrapeMetrics(t, p.Ops).Sum("portico_recorded_exchanges_total", `outcome="written"`); written == 0 {
		t.Error("no exchange is counted as written")
	}
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if len(loadRecorded(t, dir)) == 0 {
		t.Error("nothing was recorded")
	}
	usage, err := recording.ReadUsage(os.DirFS(dir))
	if err != nil || usage.Rows()[0].Call != "listProducts" {
		t.Errorf("counted %+v (%v)", usage, err)
	}
}

// belowShop is the public URL of a shop in a subdirectory.
const belowShop = "PORTICO_PUBLIC_URL=http://store.example/shop"

// TestRecordingBelowBasePath checks that recordings of a shop in a subdirectory do not
// contain the base path, can be replayed at the root, and show no difference between the
// two.
func TestRecordingBelowBasePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	calls := []contracttests.Exchange{{Name: "reads", Steps: []contracttests.Step{
		{As: contracttests.Guest, Method: http.MethodGet, Path: "/products/1?attrs=sku,url,image_url"},
		{As: contracttests.Admin, Method: http.MethodGet, Path: "/products/1/images"},
		{As: contracttests.Admin, Method: http.MethodPost, Path: "/products/1/categories", Body: new(`{"category_id":"4"}`), ContentType: new("application/json")},
	}}}
	for i := range calls[0].Steps {
		calls[0].Steps[i].Accept = new("application/json")
	}
	t.Run("record", func(t *testing.T) {
		server := startRecording(t, dir, belowShop)
		defer server.Stop(t)
		target := server.Target(t) // with the base path
		target.Reset = nil         // sends a request, which would be recorded
		recorded, err := contracttests.Record(t.Context(), target, calls)
		if err != nil {
			t.Fatal(err)
		}
		if location := recorded[0].Steps[2].Response.Location; location == nil || *location != "/api/rest/products/1/categories/4" {
			t.Errorf("the suite records the Location %v", location)
		}
	})
	files, err := filepath.Glob(filepath.Join(dir, recording.ExchangesFolder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte("shop")) {
			t.Errorf("the base path is in the file (%v): %s", err, text)
		}
	}
	recorded := loadRecorded(t, dir)
	root, below := apptest.StartDemo(t, "magento"), apptest.StartDemo(t, "magento", belowShop)
	for _, target := range []contracttests.Target{root.Target(t), below.Target(t)} {
		target.Reset = nil // which knows no base path
		if got := contracttests.Replay(t, target, recorded); got.Passed != len(calls[0].Steps) {
			t.Errorf("%s: %+v", target.BaseURL, got)
		}
	}
	found, screen, err := runCompare(t, "--legacy", root.Contract, "--candidate", below.Contract, "--candidate-base", "http://store.example/shop", "--requests", dir)
	if err != nil || found == nil || found.Compared != 2 || found.Different != 0 {
		t.Errorf("%+v, %v\n%s", found, err, screen)
	}
}
