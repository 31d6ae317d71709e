package importer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// TestFollowOnce applies the changes of a legacy store by "portico follow --once". The store is
// afterwards as if the changed legacy store had been imported into an empty one.
func TestFollowOnce(t *testing.T) {
	t.Parallel()
	shop, path := newRichShop(t)
	changeOldShop(t, shop)
	once := func(arguments ...string) (report apptest.Report) {
		t.Helper()
		arguments = append(append([]string{"follow", "--once", "--json", "--config", shop.Config, "--media", shop.Media}, shop.From...), arguments...)
		apptest.Parse(t, shop.Commands.MustRun(t, arguments...), &report)
		return report
	}
	want := map[string]string{
		"products": "1 created, 2 changed, 2 removed, 0 skipped", "images": "0 created, 2 changed, 0 removed, 0 skipped",
		"stock": "0 created, 1 changed, 1 removed, 0 skipped", "orders": "0 created, 1 changed, 0 removed, 0 skipped",
	}
	if difference := cmp.Diff(want, once().Counts()); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	got := contentsOf(t, path)
	if difference := cmp.Diff(again(t, shop), got); difference != "" {
		t.Errorf("a fresh import -, followed +:\n%s", difference)
	}
	if got := once().Counts(); len(got) > 0 {
		t.Errorf("another time changes %v", got)
	}

	t.Run("a record that cannot be stored", func(t *testing.T) {
		commands := shop.Commands.With("PORTICO_FOLLOW_DSN=" + shop.From[1])
		before := shop.Config
		defer func() { shop.Config = before }()
		shop.Config = withOldShopInFront(t, shop)
		plan := func() (products int64, text string) {
			t.Helper()
			arguments := []string{"plan", "--config", shop.Config, "--ops", "http://127.0.0.1:1"}
			var plan plan.Plan
			apptest.Parse(t, commands.MustRun(t, append(arguments, "--json")...), &plan)
			return plan.Follow.Parked["products"], commands.MustRun(t, arguments...)
		}
		const warns = "Changed records that could not be stored: 1."
		apptest.Execute(t, shop.DB, "SET @sku = (SELECT sku FROM catalog_product_entity WHERE entity_id = 2)", "UPDATE catalog_product_entity SET sku = @sku WHERE entity_id = 1")
		once()
		if parked, text := plan(); parked != 1 || !strings.Contains(text, warns) {
			t.Errorf("%d products are parked, and the plan says\n%s", parked, text)
		}
		apptest.Execute(t, shop.DB, "UPDATE catalog_product_entity SET sku = 'free' WHERE entity_id = 2")
		once()
		if parked, text := plan(); parked != 0 || strings.Contains(text, warns) {
			t.Errorf("%d products are still parked, and the plan says\n%s", parked, text)
		}
	})
	t.Run("too many removals", func(t *testing.T) {
		apptest.Execute(t, shop.DB, "DELETE FROM sales_flat_order WHERE entity_id > 1")
		held, stderr, err := shop.Commands.Run(t, append([]string{"follow", "--once", "--config", shop.Config, "--media", shop.Media}, shop.From...)...)
		if err != nil || strings.Contains(held, "orders") && !strings.Contains(stderr, "--allow-removals") {
			t.Errorf("%v\n%s\n%s", err, held, stderr)
		}
		if got := len(contentsOf(t, path)["sales_order"]); got < 10 {
			t.Errorf("%d orders are left", got)
		}
		once("--allow-removals", "100")
		if got := len(contentsOf(t, path)["sales_order"]); got != 1 {
			t.Errorf("%d orders are left, want 1", got)
		}
	})
}

// withOldShopInFront returns a configuration in which the legacy store answers all calls.
func withOldShopInFront(t *testing.T, s *apptest.Imported) (file string) {
	t.Helper()
	return apptest.NewFile(t, "portico.yaml", apptest.ReadFile(t, s.Config)+"\nlegacy: {url: 'http://127.0.0.1:1'}\nroutes: [{resource: all, to: legacy}]\n")
}

// TestFollowRefused starts following where it cannot work. The command says why.
func TestFollowRefused(t *testing.T) {
	t.Parallel()
	from, old := magento1test.NewShop(t, magento1test.Demo, "")
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	for _, c := range []struct {
		name      string
		arguments []string
		want      string
	}{
		{"no database", nil, "name the old database: add --from or --from-file, or set follow.dsn"},
		{"no server", []string{"--from", "mysql:u:swordfish@tcp(127.0.0.1:1)/d"}, "connect to the legacy database"},
		{"nothing imported", []string{"--from", from}, "run portico import all with the same database first"},
		{"no such period", []string{"--from", from, "--interval", "-1s"}, "must be longer than 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, err := commands.Run(t, append([]string{"follow"}, c.arguments...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error()+stdout+stderr, "swordfish") {
				t.Errorf("%v\n%s%s", err, stdout, stderr)
			}
		})
	}
	t.Run("another shop", func(t *testing.T) {
		commands.MustRun(t, "import", "--from", from, "websites")
		apptest.Execute(t, old, "RENAME TABLE core_website TO p_core_website, core_store TO p_core_store, core_store_group TO p_core_store_group")
		_, _, err := commands.Run(t, "follow", "--from", from, "--prefix", "p_")
		if err == nil || strings.Contains(err.Error(), "following") {
			t.Errorf("%v", err)
		}
	})
}

// TestFollowCheck asks whether the binary logs of two servers can be read.
func TestFollowCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, mode, want string }{
		{"a log", sqltest.LoggedMariaDB(t), "log", "the binary log can be read"},
		{"no log", sqltest.MariaDB(t), "polling", "the binary log is not read: changes arrive within 5s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			magento1test.Fill(t, c.from, magento1test.Demo, "")
			if got := apptest.MustRun(t, "follow", "--check", "--from", c.from); !strings.Contains(got, c.want) {
				t.Errorf("%s", got)
			}
			var got struct {
				Mode     string
				Findings []any
			}
			apptest.Parse(t, apptest.MustRun(t, "follow", "--check", "--json", "--from", c.from), &got)
			if got.Mode != c.mode || c.mode == "polling" && len(got.Findings) == 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestServeFollows changes a legacy store while two processes serve the store that was filled from
// it. The change shows although the one that followed first has ended.
func TestServeFollows(t *testing.T) {
	t.Parallel()
	shop := apptest.Import(t, magento1test.Rich, "", sqltest.SQLite(t))
	serve := func() *apptest.Process {
		return apptest.Start(t, shop.Commands.With(
			"PORTICO_FOLLOW_DSN="+shop.From[1], "PORTICO_FOLLOW_INTERVAL=100ms", "PORTICO_FOLLOW_COMPARE_PERIOD=1s", "PORTICO_CACHE_MEMORY_BYTES=0", "PORTICO_PUBLIC_URL=",
		), "--config", shop.Config)
	}
	processes := []*apptest.Process{serve(), serve()}
	leader := func() int {
		at := -1
		testenv.Await(t, "one that follows", func() bool {
			at = -1
			for i, p := range processes {
				if strings.Contains(apptest.Send(t, "GET", p.Ops+"/metrics", "").Body, "\nportico_follow_leader 1\n") {
					at = i
				}
			}
			return at >= 0
		})
		return at
	}
	at := leader()
	processes[at].Stop(t)
	processes = append(processes[:at], processes[at+1:]...)
	apptest.Execute(t, shop.DB, "UPDATE catalog_product_entity_varchar SET value = 'New name' WHERE entity_id = 1 AND attribute_id = (SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'name' AND entity_type_id = 4)",
		"UPDATE catalog_product_entity SET updated_at = NOW() WHERE entity_id = 1")
	testenv.Await(t, "the new name", func() bool {
		got := apptest.Send(t, "GET", processes[0].Contract+"/api/rest/products/1", "", "Accept", "application/json")
		return got.Status == http.StatusOK && strings.Contains(got.Body, "New name")
	})
	if leader() != 0 {
		t.Error("nobody follows")
	}
	metrics := apptest.Send(t, "GET", processes[0].Ops+"/metrics", "").Body
	for _, want := range []string{`portico_follow_records_total{outcome="changed",part="products"}`, "\nportico_follow_lag_seconds ", `portico_follow_parked_records{part="orders"} 0`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	processes[0].Stop(t)
	if text := processes[0].Stderr.Text(); strings.Contains(text, "name=") || strings.Contains(text, fmt.Sprint(shop.From[1])) {
		t.Errorf("the log has too much:\n%s", text)
	}
}
