// Portico serves the legacy store REST contract in front of another backend. Package app
// is the program.
package main

import "github.com/portico-commerce/portico/cmd/portico/app"

func main() {
	app.WithoutMemoryProfile()
	app.Main()
}
