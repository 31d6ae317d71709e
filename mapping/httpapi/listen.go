package httpapi

import (
	"context"
	"net"
	"time"
)

// Listen listens on an address. It listens without Multipath TCP, because sockets of that do not support
// [IgnoreHandshakes].
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var without net.ListenConfig
	without.SetMultipathTCP(false)
	return without.Listen(ctx, "tcp", address)
}

// HandshakeTime is the time in which handshakes end that had begun before [IgnoreHandshakes].
const HandshakeTime = 100 * time.Millisecond

// IgnoreHandshakes makes a listener of [Listen] drop new handshakes, and lets those in progress end. Call it
// [HandshakeTime] before the listener closes: a connection that is established but not accepted by then is
// reset, and a proxy does not repeat a POST that it has sent over one. A client repeats a dropped handshake after
// a second. It is then refused, so that a proxy may send its request elsewhere. Only Linux can drop handshakes.
func IgnoreHandshakes(listener net.Listener) error {
	if tcp, ok := listener.(*net.TCPListener); ok {
		return ignoreHandshakes(tcp)
	}
	return nil
}
