#!/usr/bin/env bash
# Package:  golang.org/x/net v0.61.0 (netutil.LimitListener) with net/http of Go 1.26
# Guess:    A limit on the number of connections changes nothing in how a reply ends.
# Behavior: The connections of LimitListener are of a type without CloseWrite. When net/http refuses a
#           request before it has read its long body, it closes its half of the connection, waits half a
#           second so that the client can read the reply, and closes the rest. Without CloseWrite it skips
#           the first step and still waits: each such reply ends half a second late for clients that read
#           to the end, and holds a slot of the limit as long.
# Output:   bare listener: *net.TCPConn, CloseWrite: true; reply "HTTP/1.1 413 Request Entity Too Large" ends at once, <nil>
#           LimitListener: *netutil.limitListenerConn, CloseWrite: false; reply "HTTP/1.1 413 Request Entity Too Large" ends after half a second, <nil>
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >go.mod <<'MOD'
module finding

go 1.26

require golang.org/x/net v0.61.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

// ask sends a request whose body is longer than the server reads, whole, before it reads the reply.
func ask(wrap func(net.Listener) net.Listener) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	kind := make(chan string, 1)
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		}),
		ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateNew {
				_, ok := c.(interface{ CloseWrite() error })
				kind <- fmt.Sprintf("%T, CloseWrite: %v", c, ok)
			}
		},
	}
	go func() { _ = server.Serve(wrap(listener)) }()
	defer func() { _ = server.Close() }()
	conn, err := net.DialTimeout("tcp", listener.Addr().String(), 5*time.Second)
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx")
	start := time.Now()
	reply, err := io.ReadAll(conn)
	first, _, _ := strings.Cut(string(reply), "\r\n")
	end := "ends at once"
	if time.Since(start) > 400*time.Millisecond {
		end = "ends after half a second"
	}
	return fmt.Sprintf("%s; reply %q %s, %v", <-kind, first, end, err)
}

func main() {
	fmt.Println("bare listener:", ask(func(l net.Listener) net.Listener { return l }))
	fmt.Println("LimitListener:", ask(func(l net.Listener) net.Listener { return netutil.LimitListener(l, 10) }))
}
GO
go mod tidy
go run . | tee seen
cat >expected <<'SEEN'
bare listener: *net.TCPConn, CloseWrite: true; reply "HTTP/1.1 413 Request Entity Too Large" ends at once, <nil>
LimitListener: *netutil.limitListenerConn, CloseWrite: false; reply "HTTP/1.1 413 Request Entity Too Large" ends after half a second, <nil>
SEEN
diff expected seen
