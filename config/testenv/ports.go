package testenv

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// The ports of FreePort lie below those that systems give to connections, and to listeners on port 0.
// Linux gives those from 32768 on.
const (
	firstPort = 12000
	endOfPort = 32000
)

// FreePort returns a TCP port of the loopback interface on which nothing listens, for a server that
// cannot listen on port 0. No test process gets it again while this one runs.
func FreePort() (port int, err error) {
	const attempts = 1000
	for range attempts {
		port = firstPort + rand.IntN(endOfPort-firstPort)
		if !reserve(port) {
			continue
		}
		// To listen and to close would not do: a process that is being started beside holds the listener
		// until it has become another program.
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		switch {
		case err == nil:
			_ = conn.Close()
		case errors.Is(err, syscall.ECONNREFUSED):
			return port, nil
		default:
			return 0, err
		}
	}
	return 0, errors.New("no port of 127.0.0.1 is free")
}

// FreeAddress returns an address of the loopback interface, host:port, with a port of [FreePort].
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	port, err := FreePort()
	if err != nil {
		tb.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
