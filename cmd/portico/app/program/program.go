// Package program has what the commands of portico share: the program with its backends and
// adapters, its settings and configuration, the stores that they name, and how results are
// printed.
//
// A command is a function of a [Program] that returns a cobra command. It gets its
// configuration from [Program.LoadConfig], Portico's own database from [OpenStore], and a
// backend from [Program.OpenBackendStore]. The package knows no command.
//
// # How it is tested
//
// With the commands, by the tests of package app, which run them as users do.
//
// # Certificate
//
// Package certificate keeps the certificate of a server current: it reads the two PEM files again
// when they have changed, and goes on with the former pair while they do not belong together.
//
// # Legacysystem
//
// Package legacysystem opens the legacy system that the settings legacy.* and follow.* name, for
// the server and for commands.
//
// # How it is tested
//
// By the tests of package app, with servers in place of the old shop.
package program

import (
	"os"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/buildinfo"
)

// A Program is what a process of portico consists of, whichever command it runs.
type Program struct {
	Build      buildinfo.Info
	Environ    []string // "NAME=value"
	Backends   []Backend
	Adapters   []Adapter // in Go, without those that are built in
	DemoPublic bool      // others may reach the demo store
	// OuterMiddleware and Middleware are gin middleware of the contract's port, before and
	// after Portico's own.
	OuterMiddleware, Middleware []gin.HandlerFunc

	listed []config.Setting // what settings returns; nil before its first call
}

// New returns the program of this process with its built-in backends.
func New() *Program {
	return &Program{Build: buildinfo.Read(), Environ: os.Environ(), Backends: []Backend{restBackend()}}
}

// Getenv returns the value of an environment variable, or "" if it is not set.
func (p *Program) Getenv(name string) (value string) {
	for _, entry := range p.Environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			value = text
		}
	}
	return value
}
