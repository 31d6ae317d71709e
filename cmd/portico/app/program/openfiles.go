package program

import "github.com/portico-commerce/portico/config"

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
