package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filesOf returns the content and the time of every file below a folder, by name.
func filesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files[name] = info.ModTime().String() + " " + apptest.ReadFile(t, filepath.Join(folder, name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestTrialRestore tries an archive beside a running shop, whose images it must not touch.
func TestTrialRestore(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	images := filepath.Join(t.TempDir(), "images")
	live := commands.With("PORTICO_SQL_MEDIA_DIR=" + images)
	example := apptest.NewFile(t, "store.json", live.MustRun(t, "seed", "--example"))
	live.MustRun(t, "seed", "--dataset", example)
	archive := filepath.Join(t.TempDir(), "shop.tar.gz")
	live.MustRun(t, "backup", archive)
	process := apptest.Start(t, live)
	apptest.WriteFile(t, filepath.Join(images, ".new-1"), "an image that a client is uploading")
	before := filesOf(t, images)
	if len(before) < 2 {
		t.Fatalf("the live shop has no images: %v", before)
	}

	file := filepath.Join(t.TempDir(), "trial.db")
	trial := live.With("PORTICO_SQL_DSN=sqlite:" + file)
	refused := func(when, want string, arguments ...string) {
		t.Helper()
		if _, stderr, err := trial.Run(t, arguments...); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), images) {
			t.Errorf("%s: %v\n%s", when, err, stderr)
		}
		if after := filesOf(t, images); !maps.Equal(after, before) {
			t.Errorf("%s: the images of the live shop were\n%q\nand are\n%q", when, before, after)
		}
	}
	const other = "belongs to another database"
	refused("a trial restore", other, "restore", archive, "--verify")
	refused("with more force", "--take-media", "restore", archive, "--force", "--while-running")
	if files, err := filepath.Glob(file + "*"); len(files) > 0 || err != nil {
		t.Errorf("the refused restore has created %q, %v", files, err)
	}
	refused("a seed", other, "seed", "--dataset", example)
	refused("a seed that replaces", other, "seed", "--dataset", example, "--replace")
	refused("a server", other, "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	if out, _, err := trial.Run(t, "doctor"); err == nil || !strings.Contains(out, other) {
		t.Errorf("doctor says %v\n%s", err, out)
	}

	own := trial.With("PORTICO_SQL_MEDIA_DIR=" + filepath.Join(t.TempDir(), "trial"))
	own.MustRun(t, "restore", archive, "--verify")
	refused("a server with the rows of the live shop", other, "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	apptest.Start(t, own).Stop(t)
	process.Stop(t)

	// The live database is gone for good.
	trial.MustRun(t, "restore", archive, "--force", "--verify", "--take-media")
	apptest.Start(t, trial).Stop(t)
	trial = live // which comes back
	before = filesOf(t, images)
	refused("the database from before", other, "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
}

// TestTrialBesideEarlierVersion tries an archive beside a shop whose images have no marker yet.
func TestTrialBesideEarlierVersion(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	images := filepath.Join(t.TempDir(), "images")
	live := commands.With("PORTICO_SQL_MEDIA_DIR=" + images)
	live.MustRun(t, "seed", "--dataset", apptest.NewFile(t, "store.json", live.MustRun(t, "seed", "--example")))
	archive := filepath.Join(t.TempDir(), "shop.tar.gz")
	live.MustRun(t, "backup", archive)
	if err := os.Remove(filepath.Join(images, ".portico-database")); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, images)
	trial := live.With("PORTICO_SQL_DSN=sqlite:" + filepath.Join(t.TempDir(), "trial.db"))
	if _, _, err := trial.Run(t, "restore", archive, "--verify"); err == nil || !strings.Contains(err.Error(), "may be those of another one") {
		t.Errorf("a trial restore: %v", err)
	}
	if after := filesOf(t, images); !maps.Equal(after, before) {
		t.Errorf("the images of the live shop were\n%q\nand are\n%q", before, after)
	}
	apptest.Start(t, live).Stop(t) // marks them
	if _, _, err := trial.Run(t, "restore", archive, "--verify"); err == nil || !strings.Contains(err.Error(), "belongs to another database") {
		t.Errorf("a trial restore after the live shop has started: %v", err)
	}
	live.MustRun(t, "restore", archive, "--force", "--verify")
}

// TestRestoreInPlace restores into a new database in the place of one that is lost, whose images are
// still there.
func TestRestoreInPlace(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{"beside the database": "", "elsewhere": filepath.Join(t.TempDir(), "images")} {
		t.Run(name, func(t *testing.T) {
			path, commands := apptest.NewStore(t, apptest.SecretKey)
			if folder != "" {
				commands = commands.With("PORTICO_SQL_MEDIA_DIR=" + folder)
			}
			commands.MustRun(t, "seed", "--dataset", apptest.NewFile(t, "store.json", commands.MustRun(t, "seed", "--example")))
			archive := filepath.Join(t.TempDir(), "shop.tar.gz")
			commands.MustRun(t, "backup", archive)
			for _, end := range []string{"", "-wal", "-shm"} {
				if err := os.RemoveAll(path + end); err != nil {
					t.Fatal(err)
				}
			}
			commands.MustRun(t, "restore", archive, "--verify")
			apptest.Start(t, commands).Stop(t)
		})
	}
}
