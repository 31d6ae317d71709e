// This program is Portico in front of a warehouse that knows only stock: an example of an
// adapter that is written in Go, outside Portico's repository. It has all commands of
// portico. Calls for stock items are served from a JSON file, and all others are answered as
// methods that are not implemented, unless routes send them to the legacy store.
//
//	stockadapter serve --adapter warehouse
package main

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/config"
)

func main() { app.Main(app.WithAdapter(stockAdapter())) }

// stockAdapter declares the adapter: its name, its settings, and how it is opened.
func stockAdapter() app.Adapter {
	return app.Adapter{
		Name: "warehouse",
		Settings: []config.Setting{
			{Name: "file", Kind: config.Text, Default: "stock.json", Help: "JSON file with a list of stock items, each an object of the attributes of the contract."},
		},
		Open: func(_ context.Context, e *app.Environment) (adapter.Adapter, error) {
			return newWarehouse(e.Settings["file"], e.Schemas), nil
		},
	}
}
