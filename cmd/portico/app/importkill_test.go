package app

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/contracttests/nightly"
	"github.com/portico-commerce/portico/contracttests/programs"
)

// TestImportKilled is TestImportKilledTwice for many moments.
func TestImportKilled(t *testing.T) {
	nightly.Only(t, "faults")
	killImports(t, 50)
}

// TestImportKilledTwice kills two imports of a shop with SIGKILL at a random moment. The next
// import completes, and the store is as if none had been interrupted.
func TestImportKilledTwice(t *testing.T) {
	killImports(t, 2)
}

// killImports kills so many imports: those with even numbers while they fill an empty store,
// the others while they take over what a shop has changed and removed.
func killImports(t *testing.T, rounds int) {
	t.Helper()
	shop, path := newRichShop(t)
	before, err := os.ReadFile(path) // the commands have closed it
	if err != nil {
		t.Fatal(err)
	}
	shop.change(t)
	want := shop.again(t)
	began := time.Now()
	whole := shop.start(t, filepath.Join(t.TempDir(), "whole.db"))
	if <-whole.ended; whole.cmd.ProcessState.ExitCode() != 0 {
		t.Fatal(whole.output.String())
	}
	took := time.Since(began)
	interrupted := 0
	for round := range rounds {
		shop, store := shop.withStore(t)
		var update []string
		if round%2 == 1 {
			update = []string{"--update"}
			if err := os.WriteFile(store, before, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		after := rand.N(took)
		t.Logf("round %d is over after %s of %s", round, after, took)
		killed := shop.start(t, store, update...)
		select {
		case <-killed.ended:
		case <-time.After(after):
			if err := killed.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			<-killed.ended
			interrupted++
		}
		shop.run(t, append(update, "--media", shop.media, "all")...)
		if difference := cmp.Diff(want, contentsOf(t, store)); difference != "" {
			t.Fatalf("round %d: the store differs from that of an import without interruption (-that +this)\n%s", round, difference)
		}
		if got := shop.run(t, "--media", shop.media, "--update", "all").counts(); len(got) > 0 {
			t.Errorf("round %d: another import changes %v", round, got)
		}
	}
	if interrupted == 0 && rounds > 2 {
		t.Error("no import was interrupted")
	}
}

// A startedImport is a running "portico import".
type startedImport struct {
	cmd    *exec.Cmd
	output *bytes.Buffer // to be read after the end
	ended  <-chan struct{}
}

// start starts to import all of the shop into a SQLite store.
func (s *importedShop) start(t *testing.T, store string, arguments ...string) *startedImport {
	t.Helper()
	i := &startedImport{output: &bytes.Buffer{}}
	i.cmd = exec.Command(portico(t), append([]string{"import", "--config", s.config, "--media", s.media, "all"}, slices.Concat(s.from, arguments)...)...)
	i.cmd.Env = append(withoutSettings(os.Environ()), fastPasswordHashing, "PORTICO_SQL_DSN=sqlite:"+store, "PORTICO_SQL_MEDIA_DIR="+store+"-media", "PORTICO_AUTH_SECRET_KEY="+secretKey)
	i.cmd.Stdout, i.cmd.Stderr = i.output, i.output
	i.ended = programs.Start(t, i.cmd)
	return i
}
