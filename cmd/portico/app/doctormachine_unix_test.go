//go:build linux || darwin

package app

import (
	"math"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/doctor"
	"github.com/portico-commerce/portico/config"
)

// TestSpace compares the free space of a folder with what it should have.
func TestSpace(t *testing.T) {
	folder := t.TempDir()
	if _, known := freeSpace(folder); !known {
		t.Fatal("the free space is not known on this system")
	}
	for _, tt := range []struct {
		little, least uint64
		want          doctor.Level
	}{{0, 0, doctor.OK}, {math.MaxUint64, 0, doctor.Warning}, {math.MaxUint64, math.MaxUint64, doctor.Fault}} {
		if found := spaceFinding(folder, "images", tt.little, tt.least); found.Level != tt.want {
			t.Errorf("%+v", found)
		}
	}
}

// TestOpenFiles compares settings with the limit of this process.
func TestOpenFiles(t *testing.T) {
	limit, known := openFilesLimit()
	if !known {
		t.Fatal("the limit is not known on this system")
	}
	for connections, want := range map[int]doctor.Level{0: doctor.OK, int(min(limit, math.MaxInt-otherFiles)): doctor.Warning} {
		e := &examination{cfg: &config.Config{Server: config.Server{MaxConnections: connections}}}
		if found := e.checkOpenFiles(t.Context())[0]; found.Level != want {
			t.Errorf("%d connections: %+v", connections, found)
		}
	}
}
