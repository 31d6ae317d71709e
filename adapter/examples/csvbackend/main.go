// This program is Portico in front of a folder of CSV files: an example of a backend that is
// written in Go, outside Portico's repository. It has all commands of portico.
//
//	csvbackend serve --adapter csv
package main

import (
	"context"

	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

func main() { app.Main(app.WithBackend(backend())) }

// backend declares the backend: its name, its settings, and how it is opened.
func backend() program.Backend {
	return program.Backend{
		Name: "csv",
		Settings: []config.Setting{
			{Name: "folder", Kind: config.Text, Default: "shop", Help: "Folder with the file customers.csv, whose columns are id,number,email,firstname,lastname."},
		},
		Open: func(_ context.Context, e *program.Environment) (replica.Backend, error) {
			return newShop(e.Settings["folder"], e.Schemas), nil
		},
	}
}
