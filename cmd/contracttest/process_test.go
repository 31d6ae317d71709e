package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestMain removes the environment variables that would set flags.
func TestMain(m *testing.M) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, "PORTICO_") {
			_ = os.Unsetenv(name)
		}
	}
	apptest.Main(m, runCommand, map[string]func(){"contracttest": main, "portico": func() { app.Main() }})
}

func runCommand(ctx context.Context, c *exec.Cmd) int { return app.Run(ctx, c) }

// startProcess starts contracttest. At the end of the test it is killed if it still runs.
func startProcess(t *testing.T, arguments ...string) *apptest.Process {
	t.Helper()
	return apptest.StartProgram(t, nil, testenv.Self(t, "contracttest"), arguments...)
}

// startPortico serves the demo store until the test ends. It returns the base URL and the
// URL that resets the store.
func startPortico(t *testing.T, dialect string) (base, reset string) {
	t.Helper()
	p := apptest.Start(t, nil, "--demo", "--log-level", "error", "--dialect", dialect)
	return p.Contract, p.Ops + "/demo/reset"
}
