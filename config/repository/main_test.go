package repository

import (
	"context"
	"os/exec"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

func TestMain(m *testing.M) {
	apptest.Main(m, runCommand, map[string]func(){"portico": func() { app.Main() }})
}

func runCommand(ctx context.Context, c *exec.Cmd) int { return app.Run(ctx, c) }
