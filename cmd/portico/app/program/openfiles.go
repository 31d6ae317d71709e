package program

import "github.com/portico-commerce/portico/config"

const (
	// filesOfConnection is how many files a connection of the contract's port takes: its own, and an
	// image, a reply on disk or a connection to the old shop while its client reads.
	filesOfConnection = 2
	// otherFiles is the number of files that Portico has open besides connections of clients and to
	// upstreams: the database, Redis, the operators' port, the log.
	otherFiles = 256
	// connectionsPart is the part of all files, as a divisor, that connections may be at least, where the
	// process may open few.
	connectionsPart = 4
)

// NeededFiles returns about how many files the settings let the program open at most.
func NeededFiles(cfg *config.Config) uint64 {
	return uint64(filesOfConnection*cfg.Server.MaxConnections) + reservedFiles(cfg)
}

// reservedFiles returns how many of them are not for connections of the contract's port.
func reservedFiles(cfg *config.Config) uint64 {
	return uint64(cfg.Upstream.MaxInFlight + cfg.Legacy.MaxInFlight + otherFiles)
}

// MaxConnections returns how many connections the contract's port may have in a process that may open so
// many files: server.max_connections, or fewer, so that files are left for the database, the operators'
// port and the log.
func MaxConnections(cfg *config.Config, openFiles uint64) int {
	most := openFiles / connectionsPart
	if reserved := reservedFiles(cfg); openFiles > reserved {
		most = max(most, (openFiles-reserved)/filesOfConnection)
	}
	return int(min(max(most, 1), uint64(cfg.Server.MaxConnections)))
}
