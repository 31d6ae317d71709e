package httpapi_test

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/httpapi"
)

// TestIgnoreHandshakes checks that a listener which ignores handshakes loses no connection: one from before
// is accepted, and one from after is refused when the listener closes, and not reset.
func TestIgnoreHandshakes(t *testing.T) {
	t.Parallel()
	listening, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := listening.(*net.TCPListener)
	dialer := net.Dialer{Timeout: testenv.Patience(t)}
	dial := func() error {
		conn, err := dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	if err := dial(); err != nil {
		t.Fatal(err)
	}
	if err := httpapi.IgnoreHandshakes(listener); err != nil {
		t.Fatal(err)
	}
	late := make(chan error, 1)
	go func() { late <- dial() }()
	if conn, err := listener.Accept(); err != nil {
		t.Errorf("the connection from before: %v", err)
	} else if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := listener.SetDeadline(time.Now().Add(httpapi.HandshakeTime)); err != nil {
		t.Fatal(err)
	}
	if _, err := listener.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection from after is accepted (%v)", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := testenv.Receive(t, "the late connection", late); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the late connection: %v, want a refusal", err)
	}
}
