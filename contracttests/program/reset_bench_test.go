//go:build linux

package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"net/http"
	"testing"
)

// BenchmarkReset resets the demo store over the operators' port, with the database in a
// file.
func BenchmarkReset(b *testing.B) {
	l := apptest.Start(b, nil, "--demo")
	for b.Loop() {
		if got := apptest.Send(b, "POST", l.Ops+"/demo/reset", ""); got.Status != http.StatusOK {
			b.Fatalf("%d %s", got.Status, got.Body)
		}
	}
}
