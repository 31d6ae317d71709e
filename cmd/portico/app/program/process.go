package program

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/portico-commerce/portico/config"
)

// DialAddress returns the address at which this machine can reach a listener with the
// address a. For a listener on all interfaces this is the loopback address.
func DialAddress(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if strings.Contains(ip.String(), ":") {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}

// HolderName returns a name for this process that no other one has.
func HolderName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%.40s %d %s", host, os.Getpid(), rand.Text()[:8])
}

// LocalURL returns the URL of a program on this machine that listens on an address.
func LocalURL(listens string) (string, error) {
	address, err := net.ResolveTCPAddr("tcp", listens)
	if err != nil {
		return "", err
	}
	if address.IP == nil {
		address.IP = net.IPv4zero
	}
	return "http://" + DialAddress(address), nil
}

const (
	// filesOfConnection is the number of files that a connection of the contract's port takes: its
	// own, and an image, a reply on disk or a connection to the legacy store while its client
	// reads.
	filesOfConnection = 2
	// otherFiles is the number of open files apart from connections of clients and to upstreams:
	// the database, Redis, the operators' port, the log.
	otherFiles = 256
	// connectionsPart is a divisor: if the process may open few files, the maximum number of
	// connections is at least the limit of open files divided by it.
	connectionsPart = 4
)

// NeededFiles returns the approximate maximum number of open files that the settings allow.
func NeededFiles(cfg *config.Config) uint64 {
	return uint64(filesOfConnection*cfg.Server.MaxConnections) + reservedFiles(cfg)
}

// reservedFiles returns the number of open files that are not for connections of the contract's
// port.
func reservedFiles(cfg *config.Config) uint64 {
	return uint64(cfg.Upstream.MaxInFlight + cfg.Legacy.MaxInFlight + otherFiles)
}

// MaxConnections returns the maximum number of connections of the contract's port in a process that
// may open openFiles files. This is server.max_connections, or less, so that files are left for the
// database, the operators' port and the log.
func MaxConnections(cfg *config.Config, openFiles uint64) int {
	most := openFiles / connectionsPart
	if reserved := reservedFiles(cfg); openFiles > reserved {
		most = max(most, (openFiles-reserved)/filesOfConnection)
	}
	return int(min(max(most, 1), uint64(cfg.Server.MaxConnections)))
}

// memoryReserve is the memory, in bytes, that the program takes in addition to the memory that
// settings limit.
const memoryReserve = 32 << 20

// MemoryBudget returns the memory, in bytes, that the settings let the program take.
func MemoryBudget(cfg *config.Config) int64 {
	return cfg.Limits.RequestsBytes + cfg.Limits.RepliesBytes + cfg.Cache.MemoryBytes + memoryReserve
}

// collectAfter is the growth of the heap, in percent, between two runs of the garbage collector.
// The program keeps little and allocates much, so that with the default of 100 the collector takes
// a fifth of the processor time of a read.
const collectAfter = 400

// outsideRuntime is the part of memoryReserve, in bytes, that the Go runtime does not count: the
// caches of SQLite.
const outsideRuntime = 20 << 20

// LimitMemory sets the memory limit of the Go runtime, above which the garbage collector runs more
// often so that garbage left by attackers does not accumulate, and has it run less often below. The
// environment variables GOMEMLIMIT and GOGC take precedence.
func LimitMemory(getenv func(name string) string, cfg *config.Config) {
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(MemoryBudget(cfg) - outsideRuntime)
	}
	CollectRarely(getenv)
}

// CollectRarely makes the garbage collector run only when the heap has grown fivefold, unless the environment variable GOGC
// is set. It is for the server, and for commands that keep little and allocate much: it saves a seventh of the time of a sweep
// and a tenth of the time of an import, and takes 30 to 50 MB. undo brings the previous setting back.
func CollectRarely(getenv func(name string) string) (undo func()) {
	if getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(collectAfter)
	return func() { debug.SetGCPercent(before) }
}

// ReadyTimeout limits the readiness check of the upstream.
const ReadyTimeout = 2 * time.Second

// QueryTimeout limits the query of a running program, which itself answers within
// ReadyTimeout.
const QueryTimeout = ReadyTimeout + time.Second
