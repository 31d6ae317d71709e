package program

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"golang.org/x/sys/unix"
)

// TestEraseCommand erases a customer of the demo store, and searches the database and the recordings.
func TestEraseCommand(t *testing.T) {
	t.Parallel()
	path, commands, recordings, id := newZebedee(t)
	isThere := func() bool { return hasZebedee(t, path) }
	if !isThere() {
		t.Fatal("the customer is not there, so the test could not fail")
	}
	if _, _, err := commands.RunWith(t, strings.NewReader("no\n"), time.Minute, "erase", "--customer", id); err == nil || !strings.Contains(err.Error(), "nothing was erased") {
		t.Errorf("without confirmation: %v", err)
	}
	withOldShop := append(slices.Clone(commands), "PORTICO_LEGACY_URL=http://127.0.0.1:1")
	if _, _, err := withOldShop.Run(t, "erase", "--customer", id, "--yes"); err == nil || !strings.Contains(err.Error(), "still has the customer") {
		t.Errorf("with a legacy store: %v", err)
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

// newZebedee makes a store with a customer of that name, whom one of two recordings names.
func newZebedee(t *testing.T) (path string, commands apptest.Environment, recordings, id string) {
	t.Helper()
	path, commands = apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	process := apptest.Start(t, append(slices.Clone(commands), "PORTICO_AUTH_BEARER=true"))
	var key struct {
		Key string `json:"key"`
	}
	apptest.Parse(t, commands.MustRun(t, "credentials", "add-key", "--name", "x", "--admin", "--json"), &key)
	const body = `{"firstname":"Zebedee","lastname":"Quixotine","email":"zebedee.q@example.com","password":"secret-123","website_id":1,"group_id":1}`
	created := apptest.Send(t, http.MethodPost, process.Contract+"/api/rest/customers", body, "Authorization", "Bearer "+key.Key, "Content-Type", "application/json", "Accept", "application/json")
	id = created.Header.Get("Location")
	id = id[strings.LastIndex(id, "/")+1:]
	if created.Status != http.StatusOK || id == "" {
		t.Fatalf("%d %s", created.Status, created.Body)
	}
	process.Stop(t)
	recordings = t.TempDir()
	apptest.WriteFile(t, filepath.Join(recordings, "exchanges-1.json"), `{"email":"Zebedee.Q@example.com"}`)
	apptest.WriteFile(t, filepath.Join(recordings, "exchanges-2.json"), `{"email":"other@example.com"}`)
	return path, append(commands, "PORTICO_RECORD_DIR="+recordings), recordings, id
}

// hasZebedee reports whether the bytes of a database have the name of the customer.
func hasZebedee(t *testing.T, path string) bool {
	t.Helper()
	return strings.Contains(strings.ToLower(apptest.DatabaseBytes(t, path)), "zebedee")
}

// TestEraseKilledBehindCommit kills the command after it has erased the customer, and before it can
// print the receipt, because its output is a full pipe that has no reader. The next run finishes
// the work and has the receipt.
func TestEraseKilledBehindCommit(t *testing.T) {
	t.Parallel()
	path, commands, _, id := newZebedee(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(reader.Close(), writer.Close()) }()
	size, err := unix.FcntlInt(writer.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(make([]byte, size)); err != nil { // the pipe is full
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), apptest.Program(t), "erase", "--customer", id, "--yes", "--json")
	cmd.Env, cmd.Stdout = append(apptest.WithoutSettings(os.Environ()), commands...), writer
	ended := testenv.StartProgram(t, cmd)
	db := apptest.OpenStore(t, "sqlite", "sqlite:"+path)
	testenv.Await(t, "the customer to be erased", func() bool {
		var left int
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM customer WHERE entity_id = "+id).Scan(&left)
		return err == nil && left == 0
	})
	if err := errors.Join(db.Close(), cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	<-ended
	if _, _, err := commands.Run(t, "erase", "--customer", id, "--dry-run"); err == nil || !strings.Contains(err.Error(), "without --dry-run") {
		t.Errorf("a dry run: %v", err)
	}
	stdout, stderr, err := commands.Run(t, "erase", "--customer", id, "--yes", "--json")
	if err != nil {
		t.Fatalf("the next run: %v\n%s", err, stderr)
	}
	var receipt struct {
		Deleted    []struct{ Table string }
		Recordings []string
	}
	apptest.Parse(t, stdout, &receipt)
	if len(receipt.Deleted) == 0 || !slices.Equal(receipt.Recordings, []string{"exchanges-1.json"}) || !strings.Contains(stderr, "An earlier run has erased customer "+id) {
		t.Errorf("the receipt:\n%s\n%s", stdout, stderr)
	}
	if hasZebedee(t, path) {
		t.Error("the database still has the customer")
	}
	if _, _, err := commands.Run(t, "erase", "--customer", id, "--yes"); err == nil || !strings.Contains(err.Error(), "there is no customer") {
		t.Errorf("again: %v", err)
	}
}
