//go:build linux

package speed

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/config/testenv"
)

// Names of the programs that the test binary holds.
const (
	porticoProgram = "portico"
	floorProgram   = "floor"
	loadProgram    = "load"
)

// TestMain holds large stores on disk, in /var/tmp unless TMPDIR names another folder.
func TestMain(m *testing.M) {
	flag.Parse()
	if *products > 0 && os.Getenv("TMPDIR") == "" {
		if err := os.Setenv("TMPDIR", "/var/tmp"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	testenv.Main(m, map[string]func(){porticoProgram: porticoMain, floorProgram: floorMain, loadProgram: loadMain})
}

// porticoMain is the main function of Portico.
func porticoMain() {
	app.WithoutMemoryProfile()
	app.Main()
}
