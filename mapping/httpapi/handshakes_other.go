//go:build !linux

package httpapi

import "net"

// ignoreHandshakes does nothing: only Linux can drop handshakes.
func ignoreHandshakes(*net.TCPListener) error { return nil }
