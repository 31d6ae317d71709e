package importer

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// TestLogBefore compares places in binary logs.
func TestLogBefore(t *testing.T) {
	for _, c := range []struct {
		name          string
		file          string
		position      int64
		other         string
		otherPosition int64
		want          bool
	}{
		{"the same place", "bin.000003", 4, "bin.000003", 4, false},
		{"earlier in the file", "bin.000003", 3, "bin.000003", 4, true},
		{"later in the file", "bin.000003", 5, "bin.000003", 4, false},
		{"an earlier file", "bin.000002", 900, "bin.000003", 4, true},
		{"a later file", "bin.000010", 4, "bin.000009", 900, false},
		{"a longer number", "bin.1000000", 4, "bin.999999", 900, false},
		{"another log", "log.000002", 4, "bin.000003", 4, false},
		{"no number", "bin", 4, "bin.000003", 4, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := logBefore(c.file, c.position, c.other, c.otherPosition); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

// TestSourceName checks the names of sources.
func TestSourceName(t *testing.T) {
	id := magento1.Identity{Server: "a", Database: strings.Repeat("größe ", 20), Prefix: "m_"}
	name := sourceName(id)
	if len(name) > MaxSourceName || !IsSourceName(name) || name != sourceName(id) {
		t.Errorf("%q", name)
	}
	for _, other := range []magento1.Identity{{Server: "b", Database: id.Database, Prefix: "m_"}, {Server: "a", Database: "x", Prefix: "m_"}, {Server: "a", Database: id.Database}} {
		if sourceName(other) == name {
			t.Errorf("%+v has the name of another shop", other)
		}
	}
	for name, want := range map[string]bool{"shop-1_A": true, "": true, "a b": false, "é": false, "a\nb": false, strings.Repeat("a", 65): false} {
		if got := IsSourceName(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

// TestKeySet checks sets of keys.
func TestKeySet(t *testing.T) {
	keys := resourceKeys{}
	for _, key := range []int64{0, 1, 63, 64, 4095, 4096, 1 << 52} {
		keys.add("a", adapter.Key(key))
	}
	for key, want := range map[int64]bool{-1: false, 0: true, 1: true, 2: false, 63: true, 64: true, 65: false, 4095: true, 4096: true, 4097: false, 1 << 52: true, 1<<52 + 1: false} {
		if got := keys.Has("a", adapter.Key(key)); got != want || keys.Has("b", adapter.Key(key)) {
			t.Errorf("%d: %t", key, got)
		}
	}
}
