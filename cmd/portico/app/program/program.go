package program

import (
	"os"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/buildinfo"
)

// A Program holds the parts of a process of portico that all commands share.
type Program struct {
	Build      buildinfo.Info
	Environ    []string // "NAME=value"
	Backends   []Backend
	Adapters   []Adapter // in Go, without the built-in ones
	DemoPublic bool      // others may reach the demo store
	// OuterMiddleware and Middleware are gin middleware of the contract's port, before and
	// after Portico's own.
	OuterMiddleware, Middleware []gin.HandlerFunc

	listed []config.Setting // the result of Settings; nil before its first call
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
