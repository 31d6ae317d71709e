package migration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// TestConfigurations imports the legacy store as it is configured in each of the recorded
// configurations, and compares Portico's replies with the original's replies: one in ten of them on
// SQLite, and one in fifteen on PostgreSQL, which take turns with the runs. At night it is all of them on
// each engine.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	all, secrets := magento1test.Configurations(t)
	all = slices.DeleteFunc(all, func(c magento1test.Configuration) bool {
		// Portico answers fresh where the original answers from an index that is stale.
		return c.Name == "index-manual" || c.Name == "flat-catalog-stale"
	})
	if len(all) != 69 {
		t.Errorf("%d configurations, want 69", len(all))
	}
	for _, c := range testenv.Rows(t, all, 10) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for _, e := range sqltest.EnginesInTurn(t) {
				t.Run(e.Name, func(t *testing.T) { replayConfiguration(t, c, secrets, e.Empty(t)) })
			}
		})
	}
}

// replayConfiguration imports the configured store into the database of a DSN and replays the cases.
func replayConfiguration(t *testing.T, c magento1test.Configuration, secrets []byte, dsn string) {
	t.Helper()
	cases := recordedCases(t, c, secrets)
	from, db := magento1test.NewShop(t, magento1test.Rich, "")
	magento1test.Configure(t, db, "", c)
	shop := apptest.NewImportedAt(t, from, db, "", dsn)
	shop.Run(t, "--media", shop.Media, "all")
	shop.Commands.MustRun(t, append([]string{"import", "credentials", "--admins", "--config", shop.Config}, shop.From...)...)
	server := target(t, shop, c)
	got := contracttests.Replay(t, server, cases)
	if want := (contracttests.Summary{Passed: len(cases)}); got != want && !t.Failed() {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// target serves the store. Only where the recordings are about addresses does the server have the
// public address of the legacy store.
func target(t *testing.T, shop *apptest.Imported, c magento1test.Configuration) contracttests.Target {
	t.Helper()
	shop.Commands = shop.Commands.With("PORTICO_TRUSTED_PROXIES=127.0.0.1/32")
	if strings.HasPrefix(c.Name, "url-") {
		return shop.TargetAsConfigured(t)
	}
	return shop.Target(t)
}

// recordedCases returns the cases of a configuration. A header of their own authenticates the callers
// that the suite does not know.
func recordedCases(t *testing.T, c magento1test.Configuration, secrets []byte) (cases []contracttests.Exchange) {
	t.Helper()
	var file struct {
		Credentials map[string]struct{ Key, Secret, Token string }
	}
	if err := errors.Join(json.Unmarshal(c.Cases, &cases), json.Unmarshal(secrets, &file)); err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		cases[i].File = c.Name
		for j := range cases[i].Steps {
			step := &cases[i].Steps[j]
			step.Response.Body = inOrder(step)
			if step.As == contracttests.Guest {
				continue
			}
			consumer, caller := file.Credentials["consumer"], file.Credentials[step.As]
			if caller.Token == "" {
				t.Fatalf("%s: no credentials for %q", cases[i].Name, step.As)
			}
			headers := map[string]string{"Authorization": apptest.PlaintextHeader(consumer.Key, consumer.Secret, caller.Token, caller.Secret)}
			maps.Copy(headers, step.Headers)
			step.As, step.Headers = contracttests.Guest, headers
		}
	}
	return cases
}

// records matches the records of a list in JSON, which are keyed by their ids.
var records = regexp.MustCompile(`^\{"\d+":\{.*\}$`)

// inOrder returns the recorded body with the records of a list by ascending id, where the original
// leaves their order open.
func inOrder(step *contracttests.Step) string {
	body := step.Response.Body
	if strings.Contains(step.Path, "order=") || !records.MatchString(body) {
		return body
	}
	var byID map[int]json.RawMessage
	if err := json.Unmarshal([]byte(body), &byID); err != nil {
		return body
	}
	var sorted []string
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		sorted = append(sorted, fmt.Sprintf("%q:%s", strconv.Itoa(id), byID[id]))
	}
	return "{" + strings.Join(sorted, ",") + "}"
}
