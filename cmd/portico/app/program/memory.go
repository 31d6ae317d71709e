package program

import (
	"runtime/debug"

	"github.com/portico-commerce/portico/config"
)

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
	if getenv("GOGC") == "" {
		debug.SetGCPercent(collectAfter)
	}
}
