// Package program has the parts that the commands of portico share: the backends and adapters, the
// configuration, the stores that it names, and the printing of results.
//
// A command is a function of a [Program] that returns a cobra command. It gets its configuration
// from [Program.LoadConfig], Portico's own database from [OpenStore], and a backend from
// [Program.OpenBackendStore]. [NewLegacySystem] opens the legacy store that the settings legacy.*
// and follow.* name.
//
// # Principles
//
//  1. The package knows no command.
//  2. A server's certificate stays current: [NewCertificateReloader] reads the two PEM files again
//     when they change, and keeps the former pair while the new files do not belong together.
//
// # How it is tested
//
// Tests here check certificates, the buffer of the log and the limit of connections. Everything else
// is tested by the tests that run the commands as users do, with servers in the role of the legacy
// store.
package program
