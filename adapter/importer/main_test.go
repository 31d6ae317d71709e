package importer_test

import (
	"context"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config/testenv"
)

func TestMain(m *testing.M) {
	oldShop := program.Adapter{Name: apptest.ShopsProgram, Open: func(ctx context.Context, e *program.Environment) (adapter.Adapter, error) {
		return apptest.OpenShops(ctx, e.Schemas)
	}}
	testenv.Main(m, map[string]func(){"portico": func() { app.Main() }, apptest.ShopsProgram: func() { app.Main(app.WithAdapter(oldShop)) }})
}
