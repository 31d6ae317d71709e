package growth

import (
	"fmt"
	"os"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestMain runs the tests, or the program. A large store does not fit into memory, where other tests
// have their files.
func TestMain(m *testing.M) {
	if os.Getenv("TMPDIR") == "" {
		if err := os.Setenv("TMPDIR", "/var/tmp"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	apptest.Main(m, func() { app.Main() })
}
