package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBackupCommands destroys a store, restores it, and compares the replies to clients.
func TestBackupCommands(t *testing.T) {
	t.Parallel()
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	consumer := commands.AddConsumer(t, "ERP")
	archive := filepath.Join(t.TempDir(), "shop.tar.gz")
	replies := func() string {
		process := apptest.Start(t, commands.With("PORTICO_PUBLIC_URL=http://shop.example.com"))
		defer process.Stop(t)
		return apptest.NewClient(t, process.Contract, "").Get(t, "/products?limit=100").Body
	}
	before := replies()
	commands.MustRun(t, "backup", archive)
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive: %v, %v", info, err)
	}
	if _, _, err := commands.Run(t, "backup", archive); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("another backup to the same file: %v", err)
	}
	if _, _, err := commands.Run(t, "restore", archive); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("into a store that is there: %v", err)
	}
	for _, end := range []string{"", "-wal", "-shm", "-media"} {
		if err := os.RemoveAll(path + end); err != nil {
			t.Fatal(err)
		}
	}
	var restored struct {
		Verified bool  `json:"verified"`
		Records  int64 `json:"records_read"`
	}
	apptest.Parse(t, commands.MustRun(t, "restore", archive, "--verify", "--json"), &restored)
	if !restored.Verified || restored.Records == 0 {
		t.Errorf("restored: %+v", restored)
	}
	if after := replies(); after != before || before == "" {
		t.Errorf("replies differ:\n%s\nwant\n%s", after, before)
	}
	if listed := commands.MustRun(t, "credentials", "list"); !strings.Contains(listed, consumer.Key) {
		t.Errorf("the consumer is gone:\n%s", listed)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other := apptest.Environment{"PORTICO_SQL_DSN=sqlite:" + filepath.Join(t.TempDir(), "other.db"), "PORTICO_AUTH_SECRET_KEY=" + strings.Repeat("ab", 32)}
	if _, _, err := other.Run(t, "restore", archive, "--verify"); err == nil || !strings.Contains(err.Error(), "auth.secret_key") {
		t.Errorf("with another key: %v", err)
	}
}

// TestKilledBackup kills the program while it writes an archive, and checks that none has appeared.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	folder := t.TempDir()
	for i := range 5 {
		process := apptest.StartProgram(t, commands, apptest.Program(t), "backup", filepath.Join(folder, "shop.tar.gz"))
		testenv.Await(t, "the archive", func() bool { // a temporary file, or, if the command was fast, the archive
			entries, err := os.ReadDir(folder)
			return err == nil && len(entries) > 0
		})
		time.Sleep(time.Duration(i) * 5 * time.Millisecond)
		_ = process.Cmd.Process.Kill() // fails if it has ended
		<-process.Ended
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name := filepath.Join(folder, entry.Name())
			if entry.Name() == "shop.tar.gz" { // whole, or it is not there
				into := apptest.Environment{"PORTICO_SQL_DSN=sqlite:" + filepath.Join(t.TempDir(), "restored.db"), "PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey}
				into.MustRun(t, "restore", name, "--verify")
			} else if !strings.HasPrefix(entry.Name(), ".portico-backup-") {
				t.Errorf("left is %s", entry.Name())
			}
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}
