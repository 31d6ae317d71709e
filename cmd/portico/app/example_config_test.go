package app

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/config"
)

var update = flag.Bool("update", false, "write the files that tests compare with the code")

// TestExampleConfig checks that the committed example file is up to date. After a change
// of the settings run:
//
//	go test ./cmd/portico/app -run ExampleConfig -update
func TestExampleConfig(t *testing.T) {
	var want bytes.Buffer
	if err := config.WriteExample(&want, newProgram().settings()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "..", "config", "portico.example.yaml")
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("%s is out of date, run this test with -update (-want +got):\n%s", path, diff)
	}
}
