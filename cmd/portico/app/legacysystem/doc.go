// Package legacysystem opens the legacy system that the settings legacy.* and follow.* name, for
// the server and for commands.
//
// # How it is tested
//
// By the tests of package app, with servers in place of the old shop.
package legacysystem
