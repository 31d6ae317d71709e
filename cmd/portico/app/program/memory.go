package program

import (
	"github.com/portico-commerce/portico/config"
)

// memoryReserve is the memory, in bytes, that the program takes beside what settings
// limit.
const memoryReserve = 32 << 20

// MemoryBudget returns the memory, in bytes, above which the garbage collector runs more often,
// so that garbage left by attackers does not accumulate.
func MemoryBudget(cfg *config.Config) int64 {
	return cfg.Limits.RequestsBytes + cfg.Limits.RepliesBytes + cfg.Cache.MemoryBytes + memoryReserve
}
