package importer_test

import (
	"context"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest/shops"
	"github.com/portico-commerce/portico/config/testenv/programs"
)

func TestMain(m *testing.M) {
	oldShop := app.Adapter{Name: shops.Program, Open: func(ctx context.Context, e *app.Environment) (adapter.Adapter, error) {
		return shops.Open(ctx, e.Schemas)
	}}
	programs.Main(m, map[string]func(){"portico": func() { app.Main() }, shops.Program: func() { app.Main(app.WithAdapter(oldShop)) }})
}
