package repository

import (
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config"
)

// settingRows returns the output of "portico config" by setting, with additional environment
// variables. Tables such as routes have no environment variable.
func settingRows(t *testing.T, environ ...string) (rows []config.Row, byName map[string]config.Row) {
	t.Helper()
	apptest.Parse(t, apptest.Environment(environ).MustRun(t, "config", "--json"), &rows)
	byName = map[string]config.Row{}
	for _, row := range rows {
		byName[row.Name] = row
	}
	return rows, byName
}

// allSettings returns the rows of all settings but tables.
func allSettings(t *testing.T) (all []config.Row) {
	t.Helper()
	rows, _ := settingRows(t)
	for _, row := range rows {
		if row.Environment != "" {
			all = append(all, row)
		}
	}
	return all
}

// durationOf returns the value of a setting that is a duration.
func durationOf(t *testing.T, row config.Row) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(row.Value)
	if err != nil {
		t.Fatalf("%s: %v", row.Name, err)
	}
	return d
}
