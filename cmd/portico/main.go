// Portico serves the legacy store REST contract in front of another backend. Package app
// is the program.
package main

import "github.com/portico-commerce/portico/cmd/portico/app"

// version is set when a release is built.
var version = "dev"

func main() { app.Main(app.WithVersion(version)) }
