//go:build linux

package operation

import (
	"net/http"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
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
