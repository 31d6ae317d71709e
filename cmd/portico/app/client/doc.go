// Package client has the commands that speak of calls as a client makes them: "portico call" signs
// a call and sends it, "portico oauth explain" says what is wrong with a signature, and "portico
// ready" asks a running Portico whether it is ready.
//
// The credentials come from a keyring: those of the configured store, or of the demo store.
//
// # How it is tested
//
// By the tests of package app, which run the commands against a running program.
package client
