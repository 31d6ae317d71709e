package program

import (
	"testing"

	"github.com/portico-commerce/portico/config"
)

// TestMaxConnections checks the maximum number of connections for limits of open files.
func TestMaxConnections(t *testing.T) {
	cfg := &config.Config{Server: config.Server{MaxConnections: 4096}, Upstream: config.Upstream{MaxInFlight: 64}, Legacy: config.Legacy{MaxInFlight: 64}}
	for name, tt := range map[string]struct {
		openFiles uint64
		want      int
	}{
		"none":                   {0, 1},
		"few":                    {100, 25},
		"as many as are kept":    {384, 96},
		"a little more":          {700, 175},
		"a usual limit":          {1024, 320},
		"one short":              {2*4096 + 383, 4095},
		"as many as are needed":  {NeededFiles(cfg), 4096},
		"more than are needed":   {1 << 20, 4096},
		"as many as one can say": {1<<64 - 1, 4096},
	} {
		t.Run(name, func(t *testing.T) {
			if got := MaxConnections(cfg, tt.openFiles); got != tt.want {
				t.Errorf("%d connections with %d files, want %d", got, tt.openFiles, tt.want)
			}
		})
	}
}
