package program

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

func TestMain(m *testing.M) {
	apptest.Main(m, runCommand, map[string]func(){"portico": func() { app.Main() }})
}

// pace returns a channel that a client receives from between two calls if it calls until something has
// happened: it calls a hundred times a second, because more calls would only take the processors from all other
// tests, and at night without a pause.
func pace() <-chan time.Time {
	if testenv.Nightly() {
		always := make(chan time.Time)
		close(always)
		return always
	}
	return time.Tick(10 * time.Millisecond)
}

func runCommand(ctx context.Context, c *exec.Cmd) int { return app.Run(ctx, c) }
