package migration_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

func TestMain(m *testing.M) {
	oldShop := program.Adapter{Name: apptest.ShopsProgram, Open: func(ctx context.Context, e *program.Environment) (adapter.Adapter, error) {
		return apptest.OpenShops(ctx, e.Schemas)
	}}
	apptest.Main(m, runCommand, map[string]func(){"portico": func() { app.Main() }, apptest.ShopsProgram: func() { app.Main(app.WithAdapter(oldShop)) }})
}

func runCommand(ctx context.Context, c *exec.Cmd) int { return app.Run(ctx, c) }
