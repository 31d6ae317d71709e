//go:build linux || darwin

package doctor

import (
	"math"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// TestSpace compares the free space of a folder with the two limits.
func TestSpace(t *testing.T) {
	folder := t.TempDir()
	if _, known := freeSpace(folder); !known {
		t.Fatal("the free space is not known on this system")
	}
	for _, tt := range []struct {
		little, least uint64
		want          Level
	}{{0, 0, OK}, {math.MaxUint64, 0, Warning}, {math.MaxUint64, math.MaxUint64, Fault}} {
		if found := spaceFinding(folder, "images", tt.little, tt.least); found.Level != tt.want {
			t.Errorf("%+v", found)
		}
	}
}

// TestOpenFiles compares settings with the limit of this process.
func TestOpenFiles(t *testing.T) {
	limit, known := program.OpenFilesLimit()
	if !known {
		t.Fatal("the limit is not known on this system")
	}
	for connections, want := range map[int]Level{0: OK, int(min(limit, math.MaxInt32)): Warning} {
		e := &examination{cfg: &config.Config{Server: config.Server{MaxConnections: connections}}}
		if found := e.checkOpenFiles(t.Context())[0]; found.Level != want {
			t.Errorf("%d connections: %+v", connections, found)
		}
	}
}
