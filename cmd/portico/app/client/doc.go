// Package client has the commands for the calls of a client: "portico call" signs a call and sends
// it, "portico oauth explain" explains the faults of a signature, and "portico ready" asks a
// running Portico whether it is ready.
//
// The credentials come from a keyring of the configured store or of the demo store.
//
// # How it is tested
//
// By the tests of package app, which run the commands against a running program.
package client
