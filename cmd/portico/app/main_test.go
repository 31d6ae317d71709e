package app

import (
	"context"
	"os/exec"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

func TestMain(m *testing.M) {
	apptest.Main(m, func(ctx context.Context, c *exec.Cmd) int { return Run(ctx, c) }, map[string]func(){"portico": func() { Main() }})
}
