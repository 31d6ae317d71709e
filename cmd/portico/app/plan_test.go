package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/transfer"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/migration"
)

// A planShop is an old shop with a Portico in front of it, whose configuration is a file.
type planShop struct {
	t         *testing.T
	old       *httptest.Server
	dsn, file string
	settings  string // the file without routes
	// of the Portico in front, while it runs
	app        *app
	front, ops *httptest.Server
}

func newPlanShop(t *testing.T) *planShop {
	t.Helper()
	folder := t.TempDir()
	s := &planShop{t: t, dsn: demotest.SQLite(t), file: filepath.Join(folder, "portico.yaml")}
	demo, _ := startDemo(t, "magento")
	s.old = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Old", "yes")
		demo.contract.ServeHTTP(w, r)
	}))
	t.Cleanup(s.old.Close)
	s.settings = "dialect: magento\nops: {token: a-token-of-sixteen}\nsql: {dsn: 'sqlite:" + strings.TrimPrefix(s.dsn, "sqlite:") + "', media_dir: " + filepath.Join(folder, "media") +
		"}\nrecord: {dir: " + filepath.Join(folder, "recorded") + "}\n"
	s.paste("legacy: {url: '"+s.old.URL+"'}", "routes:", "  - {resource: all, to: legacy}")
	return s
}

// paste replaces the sections legacy and routes of the file, and loads it. Without a section
// legacy in lines the old one stays.
func (s *planShop) paste(lines ...string) *config.Config {
	s.t.Helper()
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "legacy:") }) {
		lines = append(lines, "legacy: {url: '"+s.old.URL+"'}")
	}
	if err := os.WriteFile(s.file, []byte(s.settings+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	cfg, err := config.Load(config.Sources{Sections: newProgram().sections(), File: s.file, Environ: []string{fastPasswordHashing}})
	if err != nil {
		s.t.Fatalf("%v in\n%s", err, strings.Join(lines, "\n"))
	}
	return cfg
}

// serve runs the Portico in front until t ends.
func (s *planShop) serve(t *testing.T) {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: s.dsn, MediaDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.app, s.front = serveApp(t, db, nil, "magento", "PORTICO_CONFIG="+s.file)
	s.ops = httptest.NewServer(s.app.ops.handler())
	t.Cleanup(s.ops.Close)
}

// reload pastes lines and puts them in force.
func (s *planShop) reload(lines ...string) {
	s.t.Helper()
	if err := s.app.rules.replace(s.paste(lines...)); err != nil {
		s.t.Fatal(err)
	}
}

// plan returns the plan as JSON and as text. Without a running Portico none is asked.
func (s *planShop) plan() (*migration.Plan, string) {
	s.t.Helper()
	arguments := []string{"plan", "--config", s.file, "--ops", "http://127.0.0.1:1"}
	if s.ops != nil {
		arguments[len(arguments)-1] = s.ops.URL
	}
	plan := &migration.Plan{}
	if err := json.Unmarshal([]byte(mustRun(s.t, append(arguments, "--json")...)), plan); err != nil {
		s.t.Fatal(err)
	}
	return plan, mustRun(s.t, arguments...)
}

// expect returns a resource of the present plan, and checks its state, its step and the texts
// that are printed.
func (s *planShop) expect(name string, state migration.State, step string, texts ...string) migration.Resource {
	s.t.Helper()
	plan, text := s.plan()
	at := slices.IndexFunc(plan.Resources, func(r migration.Resource) bool { return r.Name == name })
	if r := plan.Resources[at]; r.State != state || r.Step.Name != step {
		s.t.Errorf("%s is %s, then %s; want %s, then %s\n%s", name, r.State, r.Step.Name, state, step, text)
	}
	// Several resources may share a paragraph.
	shown := regexp.MustCompile(`\n[a-z_, ]*` + name + `[a-z_, ]*: ` + stateText(state)).MatchString(text)
	for _, want := range texts {
		if !strings.Contains(text, want) {
			s.t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") || !shown {
		s.t.Errorf("%s in\n%s", name, text)
	}
	return plan.Resources[at]
}

// pasteable returns the lines that the text of the present plan prints for a resource.
func (s *planShop) pasteable(name string) []string {
	s.t.Helper()
	_, text := s.plan()
	_, text, _ = strings.Cut(text, "\n"+name+": ") // its lines are its own, and so is the paragraph
	_, text, _ = strings.Cut(text, "\nroutes:")
	text, _, _ = strings.Cut(text, "\n\n")
	return strings.Split("routes:"+text, "\n")
}

// get reads a path as an Admin and reports whether the old shop answered.
func (s *planShop) get(path string) (old bool) {
	s.t.Helper()
	got := send(s.t, "GET", s.front.URL+path, "", "Authorization", demoAdmin(), "Accept", "application/json", "User-Agent", "Connector/3 (ada@example.com)")
	if got.status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	return got.header.Get("X-Old") == "yes"
}

// TestPlan moves a resource with the lines that the plan prints, and then the whole shop.
func TestPlan(t *testing.T) {
	t.Parallel()
	s := newPlanShop(t)
	const stock = "stock_items"

	s.expect(stock, migration.InFront, "import",
		"Unknown: When the old shop was imported: run portico import.", "Unknown: Whether both systems answer the same: run portico compare", "no usage files", "The running Portico at http://127.0.0.1:1 was not asked")

	t.Run("traffic", func(t *testing.T) {
		s.serve(t)
		for range 3 {
			if !s.get("/api/rest/stockitems/1") {
				t.Error("Portico answered")
			}
		}
		send(t, "POST", s.front.URL+"/index.php/api/v2_soap/", "<x/>", "User-Agent", "PHP-SOAP/5.3")
		send(t, "GET", s.front.URL+"/admin/dashboard/", "", "User-Agent", "Mozilla/5.0 (Ada)")
		send(t, "GET", s.front.URL+"/", "", "User-Agent", "Mozilla/5.0 (Ada)")
	})
	s.ops = nil
	r := s.expect(stock, migration.InFront, "import", "soap        PHP-SOAP  1  last ", "storefront  Mozilla   1  last ", "Calls of stock_items: 3, the last one at ")
	if r.Calls.Requests != 3 || r.Calls.Legacy != 3 {
		t.Errorf("calls %+v", r.Calls)
	}

	s.noteImport()
	s.expect(stock, migration.InFront, "shadow", "First: No sweep has compared it", "repeat portico import --update for as long as")
	s.sweep()
	s.expect(stock, migration.Agreed, "shadow", "Last sweep: ", ", complete, of http://127.0.0.1:", " as admin, guest: ")

	s.serve(t)
	s.reload(s.pasteable(stock)...)
	s.expect(stock, migration.Shadowed, "move_reads", "First: No read of stock_items has been compared yet")
	if !s.get("/api/rest/stockitems/1") {
		t.Error("Portico answered while it only compares")
	}
	settled := func() bool { return s.app.rules.current().watchers.shadowReads.Idle() }
	pollUntil(t, "the comparison", settled)
	s.expect(stock, migration.Shadowed, "move_reads", "Shadow of stock_items: 1 same since ")
	change(t, s.old.URL, [3]string{http.MethodPut, "/stockitems/2", `{"qty":"57"}`})
	s.get("/api/rest/stockitems/2")
	pollUntil(t, "the second comparison", settled)
	s.expect(stock, migration.Shadowed, "move_reads", "The shadow of stock_items: 1 of 2 answers differed since ", ", in qty; 0 have been the same since.")

	lines := s.pasteable(stock)
	s.paste(lines...)
	if plan, _ := s.plan(); !slices.ContainsFunc(plan.Warnings, func(w string) bool { return strings.Contains(w, "runs with other routes") }) {
		t.Errorf("warnings %q before the reload", plan.Warnings)
	}
	s.reload(lines...)
	s.expect(stock, migration.ReadsMoved, "wait", "until Portico answers the reads of")
	if s.get("/api/rest/stockitems/1") {
		t.Error("the old shop answered after the reads had moved")
	}

	// From here on every step is taken.
	seen := map[string]bool{}
	for range 50 {
		plan, _ := s.plan()
		if plan.Next == "" {
			break
		}
		at := slices.IndexFunc(plan.Resources, func(r migration.Resource) bool { return r.Name == plan.Next })
		before := plan.Resources[at]
		seen[before.Step.Name] = true
		if before.Step.Name == "move_outside" || before.Step.Name == "move_writes" {
			if first := strings.Join(before.Step.First, "\n"); !strings.Contains(first, "SOAP (1 request since ") {
				t.Errorf("%s does not say who still calls the old shop: %s", before.Step.Name, first)
			}
		}
		cfg := s.paste(before.Step.Lines...)
		if !before.Step.Restart {
			if err := s.app.rules.replace(cfg); err != nil {
				t.Fatal(err)
			}
		}
		after, _ := s.plan()
		if now := after.Resources[slices.IndexFunc(after.Resources, func(r migration.Resource) bool { return r.Name == plan.Next })]; now.State == before.State && now.Shadow == before.Shadow {
			t.Fatalf("%s of %s leaves it %s", before.Step.Name, before.Name, now.State)
		}
	}
	for _, step := range []string{"shadow", "move_reads", "move_writes", "move_outside", "turn_off"} {
		if !seen[step] {
			t.Errorf("no step was %s", step)
		}
	}
	plan, text := s.plan()
	for _, r := range plan.Resources {
		if r.State != migration.Alone {
			t.Errorf("%s is %s at the end", r.Name, r.State)
		}
	}
	if !strings.HasPrefix(text, "There is no old shop") {
		t.Errorf("at the end it says\n%s", text)
	}
}

// TestPlanFollowed checks what the plan says of records that could not be stored while the store
// followed the old shop.
func TestPlanFollowed(t *testing.T) {
	t.Parallel()
	s := newPlanShop(t)
	s.noteImport(sqlstore.Parked{Part: "stock", Key: 1, ParkedAt: time.Now(), RetryAt: time.Now()}, sqlstore.Parked{Part: "stock", Key: 2, ParkedAt: time.Now(), RetryAt: time.Now()})
	s.settings += "follow: {dsn: 'mysql:a:b@tcp(127.0.0.1:1)/old'}\n"
	s.paste("routes:", "  - {resource: all, to: legacy}")
	r := s.expect("stock_items", migration.Followed, "shadow", "Unknown: How far the store is behind the old shop", "First: Changed records that could not be stored: 2.")
	if got := s.expect("products", migration.Followed, "shadow"); len(got.Step.First) != len(r.Step.First)-1 {
		t.Errorf("products: %q", got.Step.First)
	}
}

// noteImport notes that the store was filled from an old shop, and which records could not be
// stored since.
func (s *planShop) noteImport(parked ...sqlstore.Parked) {
	s.t.Helper()
	db, err := sqlstore.Open(s.t.Context(), sqlstore.Options{DSN: s.dsn, MediaDir: s.t.TempDir()})
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if err := db.Imports().NoteSource(s.t.Context(), sqlstore.ImportSource{Name: "magento1", Database: "shop"}); err != nil {
		s.t.Fatal(err)
	}
	if err := db.Imports().Park(s.t.Context(), "magento1", parked...); err != nil {
		s.t.Fatal(err)
	}
}

// sweep compares the old shop with a Portico that has the same records, and notes the result.
func (s *planShop) sweep() {
	s.t.Helper()
	_, candidate := startDemo(s.t, "magento")
	credentials := filepath.Join(s.t.TempDir(), "credentials.yaml")
	file, _, _ := strings.Cut(string(contracttests.DemoCredentialsFile()), "customer_1:\n")
	if err := os.WriteFile(credentials, []byte(file), 0o600); err != nil {
		s.t.Fatal(err)
	}
	mustRun(s.t, append([]string{"compare"}, sweepArguments(s.old.URL, candidate.URL, "--credentials", credentials, "--stores", "1", "--note", "--config", s.file)...)...)
}

// TestPlanServers checks what the plan makes of the answers of operators' ports.
func TestPlanServers(t *testing.T) {
	const count = `{"routes":["all to legacy"],"shadow":{"since":"2024-03-0%sT12:00:00Z","calls":[{"call":"getProduct","outcomes":{"same":2,"different":1},"fields":{"sku":1}}]}}`
	answer := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer a-token-of-sixteen" || r.URL.Path != "/migration" {
				status = http.StatusTeapot
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	first, second := answer(200, strings.Replace(count, "%s", "1", 1)), answer(200, strings.Replace(count, "%s", "2", 1))
	folder := t.TempDir()
	file := configFile(t, "legacy: {url: http://old}\nroutes:\n  - {resource: all, to: legacy}\nops: {token: a-token-of-sixteen}\nsql: {dsn: 'sqlite:"+filepath.Join(folder, "none.db")+"', media_dir: "+filepath.Join(folder, "media")+"}\n")
	for _, tt := range []struct {
		name     string
		servers  []string
		compared int64
		unknown  string
	}{
		{"one", []string{first}, 3, ""},
		{"a path of its own", []string{first + "/"}, 3, ""},
		{"two replicas", []string{first, second}, 6, ""},
		{"one that does not answer", []string{"http://127.0.0.1:1", first}, 3, "http://127.0.0.1:1 was not asked: dial"},
		{"nothing compared", []string{answer(200, `{"routes":["all to legacy"],"shadow":null}`)}, 0, ""},
		{"another token", []string{answer(401, "")}, 0, "it wants another ops.token"},
		{"another version", []string{answer(404, "")}, 0, "it answers 404, so it is no operators' port of this version"},
		{"no JSON", []string{answer(200, "<html>")}, 0, "it is no operators' port"},
		{"no URL", []string{"127.0.0.1:9464"}, 0, "--ops must be a URL such as"},
		{"another scheme", []string{"file:///etc/passwd"}, 0, "--ops must be a URL such as"},
		{"a password", []string{"http://a:b@127.0.0.1:9464"}, 0, "--ops must be a URL such as"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var plan migration.Plan
			if err := json.Unmarshal([]byte(mustRun(t, "plan", "--json", "--config", file, "--ops", strings.Join(tt.servers, ","))), &plan); err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(plan.Resources, func(r migration.Resource) bool { return r.Name == "products" })
			var compared int64
			if c := plan.Resources[at].Compared; c != nil {
				compared = c.Same + c.Different
				if day := c.Since.Day(); day != len(tt.servers) && tt.unknown == "" {
					t.Errorf("counted since day %d", day)
				}
			}
			if compared != tt.compared || len(plan.Warnings) > 0 {
				t.Errorf("%d compared, want %d; warnings %q", compared, tt.compared, plan.Warnings)
			}
			unknown := strings.Join(plan.Unknown, "\n")
			if !strings.Contains(unknown, tt.unknown) || strings.Contains(unknown, "asked") && tt.unknown == "" {
				t.Errorf("unknown:\n%s\nwant %q", unknown, tt.unknown)
			}
			if !strings.Contains(unknown, "What the store knows of imports and sweeps cannot be read") {
				t.Errorf("no word of the store that is missing in\n%s", unknown)
			}
		})
	}
	if made, err := os.ReadDir(folder); err != nil || len(made) != 0 {
		t.Errorf("the plan has made %v (%v)", made, err)
	}
}

// TestPlanText checks the parts of the text that a shop rarely shows: colors, and resources
// that share a paragraph.
func TestPlanText(t *testing.T) {
	part := func(name, step string, state migration.State) migration.Resource {
		return migration.Resource{Name: name, State: state, Back: "b", Step: migration.Step{Name: step, Title: "Title of " + step + ".", Lines: []string{"routes: []"}}}
	}
	plan := &migration.Plan{
		Legacy: "http://old", Next: "orders", Warnings: []string{"w"}, Unknown: []string{"u"}, Follow: &migration.Follow{LagSeconds: new(2.4), Compared: time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)},
		Sweep:     &migration.Sweep{Sample: "1%", Resources: map[string]migration.Compared{"products": {Answers: 9, Different: 2, Accepted: 1}}},
		Resources: []migration.Resource{part("products", "shadow", migration.InFront), part("orders", "move_reads", migration.Shadowed), part("order_items", "move_reads", migration.Shadowed)},
	}
	for _, colored := range []bool{false, true} {
		var out strings.Builder
		if err := (&planText{Plan: plan, colored: colored}).write(&out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		want := []string{"products     in front", "orders, order_items: shadowed (next)", "Warning: w", "Unknown: u", "2 seconds behind, everything compared at 2024-03-01 12:00 UTC", ", a sample of 1%, of ", "2 of 9 differ, and 1 as accepted"}
		if colored {
			want = append(want, "\x1b[33mWarning: w\x1b[0m\n", "\n\x1b[1mproducts: in front\x1b[0m\n")
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("colored %t: no %q in\n%s", colored, w, text)
			}
		}
		if strings.Count(text, "\nroutes: []\n") != 2 || strings.Contains(text, "\x1b") != colored {
			t.Errorf("colored %t:\n%s", colored, text)
		}
	}
}

// TestFollowStatus checks what the metrics of a follower say of it.
func TestFollowStatus(t *testing.T) {
	t.Run("does not follow", func(t *testing.T) {
		registry := prometheus.NewRegistry()
		if got := followStatus(registry); got != nil {
			t.Errorf("without a follower: %+v", got)
		}
		if _, err := transfer.NewFollowMetrics(registry); err != nil {
			t.Fatal(err)
		}
		if got := followStatus(registry); got != nil {
			t.Errorf("while another process follows: %+v", got)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"leader", "lag_seconds", "last_comparison_timestamp_seconds"} {
			if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "portico_follow_"+name }) {
				t.Errorf("followers have no metric %s", name)
			}
		}
	})
	t.Run("follows", func(t *testing.T) {
		registry := prometheus.NewRegistry()
		at := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
		for name, value := range map[string]float64{"leader": 1, "lag_seconds": 2.5, "last_comparison_timestamp_seconds": float64(at.Unix())} {
			gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "portico_follow_" + name})
			gauge.Set(value)
			registry.MustRegister(gauge)
		}
		if got := followStatus(registry); got == nil || *got.LagSeconds != 2.5 || !got.Compared.Equal(at) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("configured", func(t *testing.T) {
		cfg := &config.Config{Follow: config.Follow{DSN: "x"}}
		lag := 1.0
		follows := serverStatus{migrationStatus: migrationStatus{Follow: &migration.Follow{LagSeconds: &lag}}}
		if got := followOf(cfg, []serverStatus{{}, follows}); got.LagSeconds != &lag {
			t.Errorf("%+v", got)
		}
		if got := followOf(cfg, []serverStatus{{}}); got == nil || got.LagSeconds != nil {
			t.Errorf("no server says that it follows: %+v", got)
		}
		if got := followOf(&config.Config{}, []serverStatus{{}}); got != nil {
			t.Errorf("not configured: %+v", got)
		}
	})
}
