package engine

import (
	"github.com/portico-commerce/portico/adapter"
	"io"
	"testing"
)

// TestConnectionLost distinguishes errors of the connection from errors of the server.
func TestConnectionLost(t *testing.T) {
	for _, e := range []*Engine{postgresEngine(), mysqlEngine()} {
		if kind, again := e.Classify(io.ErrUnexpectedEOF); kind != adapter.Unavailable || again {
			t.Errorf("%s: %v, %v", e.migrations, kind, again)
		}
	}
}
