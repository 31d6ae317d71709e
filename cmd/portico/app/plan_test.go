package app

import (
	"errors"
	"maps"
	"math"
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

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/legacy/follow"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// A planShop is a legacy store with a Portico in front of it, whose configuration is a file.
type planShop struct {
	t         *testing.T
	old       *httptest.Server
	dsn, file string
	settings  string // the file without routes and the sections below
	sections  map[string]string
	routes    []string // the lines that were pasted last
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
	s.sections = map[string]string{"legacy": "legacy: {url: '" + s.old.URL + "'}"}
	s.paste(inFront()...)
	return s
}

// inFront returns the lines of routes with which a migration begins.
func inFront() []string { return []string{"routes:", "  - {resource: all, to: legacy}"} }

// prepareMirror sets the settings that mirroring needs. The database of the legacy store never
// answers.
func (s *planShop) prepareMirror() {
	s.sections["legacy"] = "legacy: {url: '" + s.old.URL + "', consumer_key: k, consumer_secret: s, token: t, token_secret: u}"
	s.sections["follow"] = "follow: {dsn: 'mysql:a:b@tcp(127.0.0.1:1)/old'}"
}

// paste replaces routes and sections of the file, and loads it as start-up does. Sections that
// lines do not contain stay.
func (s *planShop) paste(lines ...string) *config.Config {
	s.t.Helper()
	s.routes, lines = lines, slices.Clone(lines)
	for name, section := range s.sections {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+":") }) {
			lines = append(lines, section)
		}
	}
	apptest.WriteFile(s.t, s.file, s.settings+strings.Join(lines, "\n")+"\n")
	cfg, err := config.Load(config.Sources{Sections: newProgram().Sections(), File: s.file, Environ: []string{apptest.FastPasswordHashing}, Routes: program.CheckRoutes})
	if err != nil {
		s.t.Fatalf("%v in\n%s", err, strings.Join(lines, "\n"))
	}
	return cfg
}

// serve runs the Portico in front until t ends.
func (s *planShop) serve(t *testing.T) {
	t.Helper()
	s.app, s.front = serveApp(t, s.open(), nil, "magento", "PORTICO_CONFIG="+s.file)
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

// plan returns the present plan. It asks the running Portico, if there is one.
func (s *planShop) plan() *plan.Plan {
	s.t.Helper()
	listed := &plan.Plan{}
	apptest.Parse(s.t, s.run("--json"), listed)
	return listed
}

// run returns the output of "portico plan".
func (s *planShop) run(more ...string) string {
	s.t.Helper()
	ops := "http://127.0.0.1:1"
	if s.ops != nil {
		ops = s.ops.URL
	}
	return apptest.MustRun(s.t, append([]string{"plan", "--config", s.file, "--ops", ops}, more...)...)
}

// expect returns a resource of the present plan, and checks its state, its step and the texts
// that are printed.
func (s *planShop) expect(name string, state plan.State, step string, texts ...string) plan.Resource {
	s.t.Helper()
	listed, text := s.plan(), s.run()
	at := slices.IndexFunc(listed.Resources, func(r plan.Resource) bool { return r.Name == name })
	if r := listed.Resources[at]; r.State != state || r.Step.Name != step {
		s.t.Errorf("%s is %s, then %s; want %s, then %s\n%s", name, r.State, r.Step.Name, state, step, text)
	}
	// Several resources may share a paragraph.
	shown := regexp.MustCompile(`\n[a-z_, ]*` + name + `[a-z_, ]*: ` + strings.ReplaceAll(string(state), "_", " ")).MatchString(text)
	for _, want := range texts {
		if !strings.Contains(text, want) {
			s.t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") || !shown {
		s.t.Errorf("%s in\n%s", name, text)
	}
	return listed.Resources[at]
}

// pasteable returns the lines that the text of the present plan prints for a resource.
func (s *planShop) pasteable(name string) []string {
	s.t.Helper()
	_, text, _ := strings.Cut(s.run(), "\n"+name+": ") // its lines are its own, and so is the paragraph
	_, text, _ = strings.Cut(text, "\nroutes:")
	text, _, _ = strings.Cut(text, "\n\n")
	return strings.Split("routes:"+text, "\n")
}

// get reads a path as an Admin and reports whether the legacy store answered.
func (s *planShop) get(path string) (old bool) {
	s.t.Helper()
	got := apptest.Send(s.t, "GET", s.front.URL+path, "", "Authorization", apptest.DemoAdmin(), "Accept", "application/json", "User-Agent", "Connector/3 (ada@example.com)")
	if got.Status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, got.Status, got.Body)
	}
	return got.Header.Get("X-Old") == "yes"
}

// TestMigrationPlan moves a resource with the lines that the plan prints, and then the whole shop.
func TestMigrationPlan(t *testing.T) {
	t.Parallel()
	s := newPlanShop(t)
	const stock = "stock_items"

	s.expect(stock, plan.InFront, "import",
		"Unknown: When everything was imported: run portico import all.", "Unknown: Whether both systems answer the same: run portico compare", "no usage files", "The running Portico at http://127.0.0.1:1 was not asked")

	t.Run("traffic", func(t *testing.T) {
		s.serve(t)
		for range 3 {
			if !s.get("/api/rest/stockitems/1") {
				t.Error("Portico answered")
			}
		}
		apptest.Send(t, "POST", s.front.URL+"/index.php/api/v2_soap/", "<x/>", "User-Agent", "PHP-SOAP/5.3")
		apptest.Send(t, "GET", s.front.URL+"/admin/dashboard/", "", "User-Agent", "Mozilla/5.0 (Ada)")
		apptest.Send(t, "GET", s.front.URL+"/", "", "User-Agent", "Mozilla/5.0 (Ada)")
	})
	s.ops = nil
	r := s.expect(stock, plan.InFront, "import", "soap        PHP-SOAP  1  last ", "storefront  Mozilla   1  last ", "Calls of stock_items: 3, the last one at ")
	if r.Calls.Requests != 3 || r.Calls.Legacy != 3 {
		t.Errorf("calls %+v", r.Calls)
	}

	s.noteImport()
	s.expect(stock, plan.InFront, "shadow", "First: No sweep has compared it", "repeat portico import --update for as long as")
	s.sweep()
	s.expect(stock, plan.Agreed, "shadow", "Last sweep: ", ", complete, of http://127.0.0.1:", " as admin, guest: ")

	s.serve(t)
	s.reload(s.pasteable(stock)...)
	s.expect(stock, plan.Shadowed, "move_reads", "First: No read of stock_items has been compared yet")
	if !s.get("/api/rest/stockitems/1") {
		t.Error("Portico answered while it only compares")
	}
	settled := func() bool { return s.app.rules.current().watchers.shadowReads.Idle() }
	testenv.Await(t, "the comparison", settled)
	s.expect(stock, plan.Shadowed, "move_reads", "Shadow of stock_items: 1 same since ")
	if got, err := apptest.NewClient(t, s.old.URL, apptest.DemoAdmin()).Call(t.Context(), http.MethodPut, "/stockitems/2", `{"qty":"57"}`); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %s %v", got.Status, got.Body, err)
	}
	s.get("/api/rest/stockitems/2")
	testenv.Await(t, "the second comparison", settled)
	s.expect(stock, plan.Shadowed, "move_reads", "The shadow of stock_items: 1 of 2 answers differed since ", ", in qty; 0 have been the same since.")

	lines := s.pasteable(stock)
	s.paste(lines...)
	if listed := s.plan(); !slices.ContainsFunc(listed.Warnings, func(w string) bool { return strings.Contains(w, "runs with other routes") }) {
		t.Errorf("warnings %q before the reload", listed.Warnings)
	}
	s.reload(lines...)
	s.expect(stock, plan.ReadsMoved, "wait", "until Portico answers the reads of")
	if s.get("/api/rest/stockitems/1") {
		t.Error("the legacy store answered after the reads had moved")
	}

	seen := s.walk(func(before plan.Step) {
		if before.Name == "turn_off" && !strings.Contains(strings.Join(before.First, "\n"), "SOAP (1 request since ") {
			t.Errorf("%s does not say who still calls the legacy store: %q", before.Name, before.First)
		}
	})
	for _, step := range []string{"shadow", "move_reads", "prepare", "move_writes", "turn_off"} {
		if !seen[step] {
			t.Errorf("no step was %s", step)
		}
	}
}

// TestPlanWithBackend moves a whole shop to a backend, and checks the way back as for Portico's own
// store.
func TestPlanWithBackend(t *testing.T) {
	t.Parallel()
	s := newPlanShop(t)
	s.noteImport()
	s.settings += "adapter: rest\nrest: {url: 'http://127.0.0.1:1'}\n"
	s.paste(inFront()...)
	seen := s.walk(func(plan.Step) {})
	for _, step := range []string{"shadow", "move_reads", "prepare", "move_writes", "turn_off"} {
		if !seen[step] {
			t.Errorf("no step was %s", step)
		}
	}
}

// resource returns a resource of the present plan.
func (s *planShop) resource(name string) plan.Resource {
	s.t.Helper()
	listed := s.plan()
	return listed.Resources[slices.IndexFunc(listed.Resources, func(r plan.Resource) bool { return r.Name == name })]
}

// walk takes every step of the plan until the end, and returns the names of the steps. After one in four, at
// night after each, it goes back by the instructions of the plan, and forward again. It calls before with each
// step before taking it.
func (s *planShop) walk(before func(plan.Step)) (seen map[string]bool) {
	s.t.Helper()
	seen, sample := map[string]bool{}, testenv.NewSample(s.t)
	for range 50 {
		listed := s.plan()
		if listed.Next == "" {
			break
		}
		next, former := listed.Resources[slices.IndexFunc(listed.Resources, func(r plan.Resource) bool { return r.Name == listed.Next })], s.routes
		seen[next.Step.Name] = true
		before(next.Step)
		if next.Step.Name == "prepare" {
			s.prepareMirror()
			s.paste(former...)
			if s.app != nil {
				s.serve(s.t)
			}
			continue
		}
		cfg := s.put(next.Step.Lines)
		if now := s.resource(next.Name); now.State == next.State && now.Shadow == next.Shadow {
			s.t.Fatalf("%s of %s leaves it %s", next.Step.Name, next.Name, now.State)
		}
		s.checkWayBack(cfg)
		if strings.Contains(next.Step.Back, "The way back stays open") && sample.Takes(4) {
			s.put(former)
			if now := s.resource(next.Name); now.State != next.State || now.Step.Name != next.Step.Name {
				s.t.Fatalf("back from %s, %s is %s, then %s; want %s", next.Step.Name, next.Name, now.State, now.Step.Name, next.State)
			}
			s.put(next.Step.Lines)
		}
	}
	listed, text := s.plan(), s.run()
	for _, r := range listed.Resources {
		if r.State != plan.Alone {
			s.t.Errorf("%s is %s at the end, then %s", r.Name, r.State, r.Step.Name)
		}
	}
	if !strings.HasPrefix(text, "There is no legacy store") {
		s.t.Errorf("at the end it says\n%s", text)
	}
	return seen
}

// put pastes lines and lets them take effect: writes change sides.
func (s *planShop) put(lines []string) *config.Config {
	s.t.Helper()
	cfg := s.paste(lines...)
	if s.app != nil && cfg.Legacy.URL != "" {
		if err := s.app.rules.replace(cfg); err != nil {
			s.t.Fatal(err)
		}
	}
	if !program.CanMirror(cfg) {
		return cfg
	}
	parts, err := program.ResourceParts(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	db := s.open()
	defer func() { _ = db.Close() }()
	for _, part := range parts {
		if part.Writes {
			s.turnWrites(db.WriteOwners(), adapter.Resource(part.Name), program.Rules(cfg.Routes).Mirrors(part.Name))
		}
	}
	return cfg
}

// turnWrites hands over the writes of a resource, in the role of the only serving process.
func (s *planShop) turnWrites(owners coordination.OwnerTable, r adapter.Resource, mirror bool) {
	s.t.Helper()
	process := outbox.Process{ID: "only", Wishes: map[adapter.Resource]bool{r: mirror}, Known: map[adapter.Resource]int64{r: math.MaxInt64}}
	all, err := owners.Announce(s.t.Context(), process, time.Hour)
	if err != nil {
		s.t.Fatal(err)
	}
	var owner outbox.Owner
	if at := slices.IndexFunc(all, func(o outbox.Owner) bool { return o.Resource == r }); at >= 0 {
		owner = all[at]
	}
	if owner.Mirrored == mirror {
		return
	}
	before := s.resource(string(r))
	if mirror && (before.Step.Name != "wait" || before.State != plan.Mirrored) {
		s.t.Errorf("before the writes of %s have changed sides: %s, then %s", r, before.State, before.Step.Name)
	}
	if err := errors.Join(owners.Begin(s.t.Context(), r, mirror), owners.Complete(s.t.Context(), r, owner.Epoch+1)); err != nil {
		s.t.Fatal(err)
	}
}

// checkWayBack checks that start-up accepts the way back that the plan gives for each resource, and
// no shorter one.
func (s *planShop) checkWayBack(cfg *config.Config) {
	s.t.Helper()
	for _, r := range s.plan().Resources {
		refused := func(calls string) bool {
			back := *cfg
			back.Routes = append([]config.Route{{Resource: r.Name, Calls: calls, To: "legacy"}}, cfg.Routes...)
			return len(program.CheckRoutes(&back)) > 0
		}
		switch {
		case strings.HasPrefix(r.Back, "Restore the former lines"):
			if refused("reads") {
				s.t.Errorf("the reads of %s cannot go back", r.Name)
			}
		case strings.HasPrefix(r.Back, "Send the writes to legacy again"):
			if refused("writes") || !refused("reads") {
				s.t.Errorf("the writes of %s cannot go back first", r.Name)
			}
		case strings.HasPrefix(r.Back, "Send the writes of "):
			if !refused("reads") {
				s.t.Errorf("%s could go back, and the plan says: %s", r.Name, r.Back)
			}
		case !strings.HasPrefix(r.Back, "Only by hand") && !strings.HasPrefix(r.Back, "None"):
			s.t.Errorf("%s: %s", r.Name, r.Back)
		}
	}
}

// TestPlanFollowed checks how the plan shows records that could not be stored while the store
// followed the legacy store.
func TestPlanFollowed(t *testing.T) {
	t.Parallel()
	s := newPlanShop(t)
	s.noteImport(coordination.Parked{Part: "stock", Key: 1, ParkedAt: time.Now(), RetryAt: time.Now()}, coordination.Parked{Part: "stock", Key: 2, ParkedAt: time.Now(), RetryAt: time.Now()})
	s.prepareMirror()
	s.paste(inFront()...)
	r := s.expect("stock_items", plan.Followed, "shadow", "Unknown: How far the store is behind the legacy store", "First: Changed records that could not be stored: 2.")
	if got := s.expect("products", plan.Followed, "shadow"); len(got.Step.First) != len(r.Step.First)-1 {
		t.Errorf("products: %q", got.Step.First)
	}
}

// open opens Portico's store.
func (s *planShop) open() *sqlstore.DB {
	s.t.Helper()
	db := apptest.OpenRecords(s.t, sqlstore.Options{DSN: s.dsn})
	return db
}

// noteImport records that the store was filled from a legacy store, and parked, the records that
// could not be stored since.
func (s *planShop) noteImport(parked ...coordination.Parked) {
	s.t.Helper()
	db := s.open()
	defer db.Close()
	if err := db.Imports().NoteSource(s.t.Context(), coordination.ImportSource{Name: "magento1", Database: "shop"}); err != nil {
		s.t.Fatal(err)
	}
	if err := db.Imports().Park(s.t.Context(), "magento1", parked...); err != nil {
		s.t.Fatal(err)
	}
	if err := db.Evidence().Note(s.t.Context(), plan.ImportEvidence, `{"at":"`+time.Now().Format(time.RFC3339)+`","database":"shop"}`); err != nil {
		s.t.Fatal(err)
	}
}

// sweep compares the legacy store with a Portico that has the same records, and records the result.
func (s *planShop) sweep() {
	s.t.Helper()
	_, candidate := startDemo(s.t, "magento")
	apptest.MustRun(s.t, append([]string{"compare"}, apptest.SweepArguments(s.old.URL, candidate.URL, "--credentials", apptest.CredentialsBefore(s.t, "customer_1"), "--note", "--config", s.file)...)...)
}

// TestPlanServers checks how the plan shows the answers of operators' ports.
func TestPlanServers(t *testing.T) {
	t.Parallel()
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
	file := apptest.NewFile(t, "portico.yaml", "legacy: {url: http://old}\nroutes:\n  - {resource: all, to: legacy}\nops: {token: a-token-of-sixteen}\nsql: {dsn: 'sqlite:"+filepath.Join(folder, "none.db")+"', media_dir: "+filepath.Join(folder, "media")+"}\n")
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
			var listed plan.Plan
			apptest.Parse(t, apptest.MustRun(t, "plan", "--json", "--config", file, "--ops", strings.Join(tt.servers, ",")), &listed)
			at := slices.IndexFunc(listed.Resources, func(r plan.Resource) bool { return r.Name == "products" })
			var compared int64
			if c := listed.Resources[at].Compared; c != nil {
				compared = c.Same + c.Different
				if day := c.Since.Day(); day != 1 {
					t.Errorf("counted since day %d", day)
				}
			}
			if compared != tt.compared || len(listed.Warnings) > 0 {
				t.Errorf("%d compared, want %d; warnings %q", compared, tt.compared, listed.Warnings)
			}
			unknown := strings.Join(listed.Unknown, "\n")
			if !strings.Contains(unknown, tt.unknown) || strings.Contains(unknown, "asked") && tt.unknown == "" {
				t.Errorf("unknown:\n%s\nwant %q", unknown, tt.unknown)
			}
			if !strings.Contains(unknown, "What the store knows of imports, sweeps and mirrored writes cannot be read") {
				t.Errorf("no word of the store that is missing in\n%s", unknown)
			}
		})
	}
	if made, err := os.ReadDir(folder); err != nil || len(made) != 0 {
		t.Errorf("the plan has made %v (%v)", made, err)
	}
}

// TestFollowStatus checks the status of a follower, which comes from its metrics.
func TestFollowStatus(t *testing.T) {
	t.Parallel()
	t.Run("does not follow", func(t *testing.T) {
		registry := prometheus.NewRegistry()
		if got := followStatus(registry); got != nil {
			t.Errorf("without a follower: %+v", got)
		}
		follow.NewMetrics(registry)
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
}

// TestPlanMirrored checks how the plan shows mirrored writes, and writes that the legacy store does
// not get.
func TestPlanMirrored(t *testing.T) {
	t.Parallel()
	s := newPlanShop(t)
	s.noteImport()
	s.prepareMirror()
	s.put([]string{"routes:", "  - {resource: all, calls: reads, to: portico}", "  - {resource: all, calls: writes, to: portico, mirror: true}", "  - {resource: outside, to: legacy}"})
	const stock = "stock_items"
	s.expect(stock, plan.Mirrored, "none", "Writes of stock_items: portico has them; the outbox is empty\n", "Writes of order_comments: portico has them; the outbox")
	s.expect("orders", plan.Moved, "none", "Send the writes of customers, customer_addresses and order_comments back")
	s.expect("outside", plan.InFront, "turn_off", "\nroutes: []\nfollow:\n  dsn: \"\"\nlegacy:\n  url: \"\"\n")

	db := s.open()
	defer db.Close()
	items, err := db.Adapter().Mirrored().Store(adapter.StockItems)
	if err != nil {
		t.Fatal(err)
	}
	for key := range adapter.Key(3) {
		item := adapter.NewRecord(adapter.NewSchemas().Of(adapter.StockItems))
		item.Set("qty", adapter.TextValue("77.0000"))
		if err := items.Update(t.Context(), &adapter.UpdateParams{Key: key + 1, Change: func(adapter.Record) (adapter.Record, error) { return item, nil }}); err != nil {
			t.Fatal(err)
		}
	}
	s.expect("outside", plan.InFront, "wait", "Changes of stock_items wait to be repeated at the legacy store: 3, the oldest since ")
	s.expect(stock, plan.Mirrored, "none", "outbox: 3 waiting, 0 parked, 0 held, 0 unknown, the oldest since ")
	box := db.Outbox()
	entries, err := box.Due(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(box.Failed(t.Context(), entries[0], outbox.Failure{Reason: "refused", Retry: time.Now(), Parked: true}), box.Delivered(t.Context(), entries[1], nil, []string{"qty"})); err != nil {
		t.Fatal(err)
	}
	s.expect(stock, plan.Mirrored, "settle", "outbox: 1 waiting, 1 parked, 1 held, 0 unknown, the oldest since ", "First: The legacy store refuses changes of stock_items: 1. Look at portico mirror list.",
		"no form (1): see portico mirror list --held", "\n    portico mirror list --config portico.yaml\n")
	create, err := box.BeginCreate(t.Context(), outbox.Create{Resource: adapter.OrderComments})
	if err == nil {
		err = box.UnknownCreate(t.Context(), create, "no reply")
	}
	if err != nil {
		t.Fatal(err)
	}
	s.expect("order_comments", plan.Mirrored, "settle", "outbox: 0 waiting, 0 parked, 0 held, 1 unknown\n")
	if first := s.expect("outside", plan.InFront, "wait").Step.First; len(first) != 3 {
		t.Errorf("to be settled before the legacy store is left: %q", first)
	}

	store := apptest.OpenStore(t, "sqlite", "file:"+strings.TrimPrefix(s.dsn, "sqlite:"))
	for _, statement := range []string{
		"UPDATE write_owner SET turning = 1 WHERE resource = 'customers'",
		"INSERT INTO outbox_conflict (resource, record_key, store_id, attribute, ours, theirs, outcome, noted_ms) VALUES ('products', 1, 0, 'name', 'A', 'B', 'kept', 1), ('stock_items', 1, 0, 'qty', '1', '2', 'added', 1), ('stock_items', 2, 0, 'qty', '1', '2', 'added', 1)",
	} {
		if _, err := store.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s.expect("customers", plan.Mirrored, "wait", "Writes of customers: portico has them, and they are changing sides; ", "Values that both a client and the legacy store have changed: 1 kept, 2 added (see")
	if listed := s.plan(); !maps.Equal(listed.Conflicts, map[string]int64{"kept": 1, "added": 2, "taken": 0, "dropped": 0}) {
		t.Errorf("conflicts %v", listed.Conflicts)
	}
	// Without following, the plan does not read the owners of writes.
	delete(s.sections, "follow")
	s.paste("routes:", "  - {resource: all, calls: reads, to: portico}", "  - {resource: all, calls: writes, to: legacy}")
	if r := s.resource("products"); r.Mirror != nil || r.Step.Name != "prepare" {
		t.Errorf("not followed: %+v, then %s", r.Mirror, r.Step.Name)
	}
	if text := s.run(); !strings.Contains(text, "Next: Set follow.dsn, and restart: ") {
		t.Errorf("no word of the missing setting in\n%s", text)
	}
}
