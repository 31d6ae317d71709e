package app

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/mapping/migration"
)

// TestFollowOnce takes over the changes of an old shop by "portico follow --once". The store is
// afterwards as if the changed shop had been imported into an empty one.
func TestFollowOnce(t *testing.T) {
	shop, path := newRichShop(t)
	shop.change(t)
	once := func(arguments ...string) (report printedRecords) {
		t.Helper()
		arguments = append(append([]string{"follow", "--once", "--json", "--config", shop.config, "--media", shop.media}, shop.from...), arguments...)
		parse(t, shop.console.mustRun(t, arguments...), &report)
		return report
	}
	want := map[string]string{
		"products": "1 created, 2 changed, 2 removed, 0 skipped", "images": "0 created, 2 changed, 0 removed, 0 skipped",
		"stock": "0 created, 1 changed, 1 removed, 0 skipped", "orders": "0 created, 1 changed, 0 removed, 0 skipped",
	}
	if difference := cmp.Diff(want, once().counts()); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	got := contentsOf(t, path)
	if difference := cmp.Diff(shop.again(t), got); difference != "" {
		t.Errorf("a fresh import -, followed +:\n%s", difference)
	}
	if got := once().counts(); len(got) > 0 {
		t.Errorf("another time changes %v", got)
	}

	t.Run("a record that cannot be stored", func(t *testing.T) {
		commands := shop.console.with("PORTICO_FOLLOW_DSN=" + shop.from[1])
		before := shop.config
		defer func() { shop.config = before }()
		shop.config = shop.inFront(t)
		plan := func() (products int64, text string) {
			t.Helper()
			arguments := []string{"plan", "--config", shop.config, "--ops", "http://127.0.0.1:1"}
			var plan migration.Plan
			parse(t, commands.mustRun(t, append(arguments, "--json")...), &plan)
			return plan.Follow.Parked["products"], commands.mustRun(t, arguments...)
		}
		const warns = "Changed records that could not be stored: 1."
		execute(t, shop.old, "SET @sku = (SELECT sku FROM catalog_product_entity WHERE entity_id = 2)", "UPDATE catalog_product_entity SET sku = @sku WHERE entity_id = 1")
		once()
		if parked, text := plan(); parked != 1 || !strings.Contains(text, warns) {
			t.Errorf("%d products are parked, and the plan says\n%s", parked, text)
		}
		execute(t, shop.old, "UPDATE catalog_product_entity SET sku = 'free' WHERE entity_id = 2")
		once()
		if parked, text := plan(); parked != 0 || strings.Contains(text, warns) {
			t.Errorf("%d products are still parked, and the plan says\n%s", parked, text)
		}
	})
	t.Run("too many removals", func(t *testing.T) {
		execute(t, shop.old, "DELETE FROM sales_flat_order WHERE entity_id > 1")
		held, stderr, err := shop.console.run(t, append([]string{"follow", "--once", "--config", shop.config, "--media", shop.media}, shop.from...)...)
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

// inFront returns a configuration in which the old shop answers all calls.
func (s *importedShop) inFront(t *testing.T) (file string) {
	t.Helper()
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "portico.yaml")
	text = append(text, "\nlegacy: {url: 'http://127.0.0.1:1'}\nroutes: [{resource: all, to: legacy}]\n"...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFollowRefused starts following where it cannot work. The command says why.
func TestFollowRefused(t *testing.T) {
	from, old := magento1test.NewShop(t, magento1test.Demo, "")
	_, commands := newStore(t, secretKey)
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
			stdout, stderr, err := commands.run(t, append([]string{"follow"}, c.arguments...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error()+stdout+stderr, "swordfish") {
				t.Errorf("%v\n%s%s", err, stdout, stderr)
			}
		})
	}
	t.Run("another shop", func(t *testing.T) {
		commands.mustRun(t, "import", "--from", from, "websites")
		execute(t, old, "RENAME TABLE core_website TO p_core_website, core_store TO p_core_store, core_store_group TO p_core_store_group")
		_, _, err := commands.run(t, "follow", "--from", from, "--prefix", "p_")
		if err == nil || strings.Contains(err.Error(), "following") {
			t.Errorf("%v", err)
		}
	})
}

// TestFollowCheck asks whether the binary logs of two servers can be read.
func TestFollowCheck(t *testing.T) {
	for _, c := range []struct{ name, from, mode, want string }{
		{"a log", sqltest.LoggedMariaDB(t), "log", "the binary log can be read"},
		{"no log", sqltest.MariaDB(t), "polling", "the binary log is not read: changes arrive within 5s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			magento1test.Fill(t, c.from, magento1test.Demo, "")
			if got := mustRun(t, "follow", "--check", "--from", c.from); !strings.Contains(got, c.want) {
				t.Errorf("%s", got)
			}
			var got printedCheck
			parse(t, mustRun(t, "follow", "--check", "--json", "--from", c.from), &got)
			if got.Mode != c.mode || c.mode == "polling" && len(got.Findings) == 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestServeFollows changes an old shop while two processes serve the store that was filled
// from it. The change shows although the one that followed first has ended.
func TestServeFollows(t *testing.T) {
	shop := importShop(t, magento1test.Rich, "", "sqlite:"+filepath.Join(t.TempDir(), "store.db"))
	serve := func() *process {
		return start(t, shop.console.with(
			"PORTICO_FOLLOW_DSN="+shop.from[1], "PORTICO_FOLLOW_INTERVAL=100ms", "PORTICO_FOLLOW_COMPARE_PERIOD=1s", "PORTICO_CACHE_MEMORY_BYTES=0", "PORTICO_PUBLIC_URL=",
		), "--config", shop.config)
	}
	processes := []*process{serve(), serve()}
	leader := func() int {
		at := -1
		pollUntil(t, "one that follows", func() bool {
			at = -1
			for i, p := range processes {
				if strings.Contains(send(t, "GET", p.ops+"/metrics", "").body, "\nportico_follow_leader 1\n") {
					at = i
				}
			}
			return at >= 0
		})
		return at
	}
	at := leader()
	processes[at].stop(t)
	processes = append(processes[:at], processes[at+1:]...)
	execute(t, shop.old, "UPDATE catalog_product_entity_varchar SET value = 'New name' WHERE entity_id = 1 AND attribute_id = (SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'name' AND entity_type_id = 4)",
		"UPDATE catalog_product_entity SET updated_at = NOW() WHERE entity_id = 1")
	pollUntil(t, "the new name", func() bool {
		got := send(t, "GET", processes[0].contract+"/api/rest/products/1", "", "Accept", "application/json")
		return got.status == http.StatusOK && strings.Contains(got.body, "New name")
	})
	if leader() != 0 {
		t.Error("nobody follows")
	}
	metrics := send(t, "GET", processes[0].ops+"/metrics", "").body
	for _, want := range []string{`portico_follow_records_total{outcome="changed",part="products"}`, "\nportico_follow_lag_seconds ", `portico_follow_parked_records{part="orders"} 0`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	processes[0].stop(t)
	if text := processes[0].stderr.text(); strings.Contains(text, "name=") || strings.Contains(text, fmt.Sprint(shop.from[1])) {
		t.Errorf("the log has too much:\n%s", text)
	}
}
