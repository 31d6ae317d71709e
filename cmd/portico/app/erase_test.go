package app

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestEraseCommand erases a customer of the demo store, and searches the database and the recordings.
func TestEraseCommand(t *testing.T) {
	t.Parallel()
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	process := apptest.Start(t, append(slices.Clone(commands), "PORTICO_AUTH_BEARER=true"))
	var key struct {
		Key string `json:"key"`
	}
	apptest.Parse(t, commands.MustRun(t, "credentials", "add-key", "--name", "x", "--admin", "--json"), &key)
	const body = `{"firstname":"Zebedee","lastname":"Quixotine","email":"zebedee.q@example.com","password":"secret-123","website_id":1,"group_id":1}`
	created := apptest.Send(t, http.MethodPost, process.Contract+"/api/rest/customers", body, "Authorization", "Bearer "+key.Key, "Content-Type", "application/json", "Accept", "application/json")
	id := created.Header.Get("Location")
	id = id[strings.LastIndex(id, "/")+1:]
	if created.Status != http.StatusOK || id == "" {
		t.Fatalf("%d %s", created.Status, created.Body)
	}
	process.Stop(t)
	recordings := t.TempDir()
	apptest.WriteFile(t, filepath.Join(recordings, "exchanges-1.json"), `{"email":"Zebedee.Q@example.com"}`)
	apptest.WriteFile(t, filepath.Join(recordings, "exchanges-2.json"), `{"email":"other@example.com"}`)
	commands = append(commands, "PORTICO_RECORD_DIR="+recordings)
	isThere := func() bool {
		return strings.Contains(strings.ToLower(apptest.DatabaseBytes(t, path)), "zebedee")
	}
	if !isThere() {
		t.Fatal("the customer is not there, so the test could not fail")
	}
	if _, _, err := commands.RunWith(t, strings.NewReader("no\n"), time.Minute, "erase", "--customer", id); err == nil || !strings.Contains(err.Error(), "nothing was erased") {
		t.Errorf("without confirmation: %v", err)
	}
	withOldShop := append(slices.Clone(commands), "PORTICO_LEGACY_URL=http://127.0.0.1:1")
	if _, _, err := withOldShop.Run(t, "erase", "--customer", id, "--yes"); err == nil || !strings.Contains(err.Error(), "still has the customer") {
		t.Errorf("with an old shop: %v", err)
	}
	commands.MustRun(t, "erase", "--customer", id, "--dry-run")
	if !isThere() {
		t.Error("the refusals or the dry run have erased the customer")
	}
	receipt := commands.MustRun(t, "erase", "--customer", id, "--yes", "--json")
	if strings.Contains(strings.ToLower(receipt), "zebedee") || !strings.Contains(receipt, "exchanges-1.json") || strings.Contains(receipt, "exchanges-2.json") {
		t.Errorf("the receipt:\n%s", receipt)
	}
	if isThere() {
		t.Error("the database still has the customer")
	}
	if left, err := os.ReadDir(recordings); err != nil || len(left) != 1 {
		t.Errorf("recordings: %v, %v", left, err)
	}
	if _, _, err := commands.Run(t, "erase", "--customer", id, "--yes"); err == nil || !strings.Contains(err.Error(), "there is no customer") {
		t.Errorf("again: %v", err)
	}
}
