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
