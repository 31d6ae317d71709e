package follow

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestFollowNamesChangedSettings changes the configuration of the legacy store while it is followed. The
// log has the line of Portico's configuration that says the same, once, and the value before.
func TestFollowNamesChangedSettings(t *testing.T) {
	t.Parallel()
	s := newFollowedShop(t, sqltest.SQLite(t))
	f := s.follower(t, nil)
	stop := start(t, f)
	testenv.Await(t, "a comparison of everything", func() bool { return s.metric(t, f, "last_comparison_timestamp_seconds", "") > 0 })
	s.execute(t,
		"DELETE FROM core_config_data WHERE path = 'cataloginventory/options/show_out_of_stock'",
		"REPLACE INTO core_config_data (scope, scope_id, path, value) VALUES ('default', 0, 'general/locale/timezone', 'Europe/Berlin')",
		"DELETE FROM core_config_data WHERE path = 'catalog/frontend/list_mode'")
	testenv.Await(t, "the log to name both settings", func() bool { return s.metric(t, f, "setting_changes_total", "") >= 2 })
	stop()
	log := s.log.String()
	for _, want := range []string{`line="stock.hide_sold_out: true" was=false`, `line="store.timezone: Europe/Berlin" was=UTC`} {
		if strings.Count(log, want) != 1 {
			t.Errorf("the log does not have %s once:\n%s", want, log)
		}
	}
	if got := s.metric(t, f, "setting_changes_total", ""); got != 2 {
		t.Errorf("%v settings have changed, want 2", got)
	}
}
