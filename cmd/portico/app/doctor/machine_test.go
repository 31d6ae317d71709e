package doctor

import (
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
)

// TestIsPublic distinguishes networks of proxies from wide public networks.
func TestIsPublic(t *testing.T) {
	for network, want := range map[string]bool{
		"10.0.0.0/8": false, "192.168.0.0/16": false, "127.0.0.1/32": false, "100.64.0.0/10": false, "fc00::/7": false, "::1/128": false, "203.0.113.7/32": false, "104.16.0.0/13": false, "2a06:98c0::/29": false,
		"10.0.0.0/7": true, "192.0.0.0/8": true, "8.0.0.0/8": true, "2000::/3": true, "fc00::/6": true,
	} {
		if got := isPublic(netip.MustParsePrefix(network)); got != want {
			t.Errorf("%s: %t", network, got)
		}
	}
}

// TestMemory compares settings with the memory of machines and containers.
func TestMemory(t *testing.T) {
	machine := &fstest.MapFile{Data: []byte("MemFree: 1 kB\nMemTotal:        2097152 kB\n")}
	of := func(name, text string) fstest.MapFS {
		return fstest.MapFS{"proc/meminfo": machine, name: {Data: []byte(text)}}
	}
	const group, oldGroup = "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"
	for _, tt := range []struct {
		name  string
		root  fstest.MapFS
		level Level
		want  string
	}{
		{"a machine", fstest.MapFS{"proc/meminfo": machine}, OK, "of 2.0 GiB of this machine"},
		{"a container", of(group, "1073741824\n"), OK, "of 1.0 GiB of this container"},
		{"an older system", of(oldGroup, "1073741824\n"), OK, "of 1.0 GiB of this container"},
		{"a container without a limit", of(group, "max\n"), OK, "this machine"},
		{"an older system without a limit", of(oldGroup, "9223372036854771712\n"), OK, "this machine"},
		{"a narrow container", of(group, "314572800\n"), Warning, "256.0 MiB of 300.0 MiB"},
		{"a small container", of(group, "134217728\n"), Fault, "it would be killed under load"},
		{"another system", fstest.MapFS{}, NotChecked, "not known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := &config.Config{Limits: config.Limits{RequestsBytes: 128 << 20, RepliesBytes: 32 << 20}, Cache: config.Cache{MemoryBytes: 64 << 20}}
			found := (&examination{cfg: cfg, root: tt.root}).checkMemory(t.Context())[0]
			if found.Level != tt.level || !strings.Contains(found.Found, tt.want) {
				t.Errorf("%+v", found)
			}
		})
	}
}

// TestClockFinding judges differences between clocks.
func TestClockFinding(t *testing.T) {
	for _, tt := range []struct {
		ahead, unsure time.Duration
		want          Level
	}{
		{0, 0, OK}, {-30 * time.Second, 0, OK}, {31 * time.Second, 0, Warning}, {31 * time.Second, time.Second, OK},
		{-10 * time.Minute, 0, Warning}, {10*time.Minute + time.Second, 0, Fault}, {-10*time.Minute - time.Second, 0, Fault},
	} {
		if found := clockFinding("clock", tt.ahead, tt.unsure); found.Level != tt.want {
			t.Errorf("%s ahead: %+v", tt.ahead, found)
		}
	}
}

// TestDatabaseFindings checks the findings for databases that are not available to tests.
func TestDatabaseFindings(t *testing.T) {
	none, writes, changes := &sqlstore.Inspection{}, &sqlstore.Inspection{MissingWrites: []string{"INSERT"}}, &sqlstore.Inspection{MissingChanges: []string{"CREATE"}}
	pending := &sqlstore.Inspection{MissingChanges: []string{"CREATE"}, Pending: []int64{1, 2}}
	for _, tt := range []struct {
		name  string
		found Finding
		level Level
		want  string
	}{
		{"an old server", serverFinding(&sqlstore.Inspection{Version: "PostgreSQL 9.6", Oldest: "10"}, "postgres:db/shop"), Fault, "PostgreSQL 9.6 at postgres:db/shop is too old"},
		{"no tables", migrationsFinding(pending, true), OK, "portico serve creates them"},
		{"no tables, and nobody makes them", migrationsFinding(pending, false), Fault, "migrations 1, 2 not made"},
		{"all rights", rightsFinding(none, true), OK, "may write and change"},
		{"no writes", rightsFinding(writes, false), Fault, "INSERT"},
		{"no changes now", rightsFinding(pending, true), Fault, "cannot make the migrations"},
		{"no changes later", rightsFinding(changes, true), Warning, "the next version"},
		{"no changes wanted", rightsFinding(changes, false), OK, "leaves the tables as they are"},
	} {
		if tt.found.Level != tt.level || !strings.Contains(tt.found.Found, tt.want) {
			t.Errorf("%s: %+v", tt.name, tt.found)
		}
	}
}
