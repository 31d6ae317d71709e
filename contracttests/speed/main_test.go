//go:build linux

package speed

import (
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/config/testenv/programs"
)

// Names of the programs that the test binary holds.
const (
	porticoProgram = "portico"
	floorProgram   = "floor"
	loadProgram    = "load"
)

func TestMain(m *testing.M) {
	programs.Main(m, map[string]func(){porticoProgram: func() { app.Main() }, floorProgram: floorMain, loadProgram: loadMain})
}
