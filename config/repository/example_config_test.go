package repository

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

var update = flag.Bool("update", false, "write the files that tests compare with the code")

// TestExampleConfig checks that the committed example file is up to date. After a change
// of the settings run:
//
//	go test ./config/repository -run ExampleConfig -update
func TestExampleConfig(t *testing.T) {
	want := apptest.MustRun(t, "config", "--example")
	path := filepath.Join("..", "..", "config", "portico.example.yaml")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, apptest.ReadFile(t, path)); diff != "" {
		t.Errorf("%s is out of date, run this test with -update (-want +got):\n%s", path, diff)
	}
}
