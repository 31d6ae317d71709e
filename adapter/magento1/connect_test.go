package magento1

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// TestTLS connects to servers as old as the versions of TLS.
func TestTLS(t *testing.T) {
	https := httptest.NewUnstartedServer(nil)
	https.StartTLS()
	defer https.Close()
	certificates := https.TLS.Certificates
	for _, c := range []struct {
		name    string
		server  *tls.Config
		old     bool
		refused bool
	}{
		{name: "new"},
		{name: "new, with OldTLS", old: true},
		{name: "TLS 1.0", server: &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, refused: true},
		{name: "TLS 1.0, with OldTLS", server: &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, old: true},
		{name: "old ciphers", server: &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}}, refused: true},
		{name: "old ciphers, with OldTLS", server: &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}}, old: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := ServerOptions{DSN: "mysql:user:swordfish@tcp(127.0.0.1:3306)/shop?tls=skip-verify", OldTLS: c.old}
			config, err := o.DriverConfig()
			if err != nil {
				t.Fatal(err)
			}
			here, there := net.Pipe()
			serverConfig := &tls.Config{Certificates: certificates}
			if c.server != nil {
				serverConfig = c.server.Clone()
				serverConfig.Certificates = certificates
			}
			done := make(chan error, 1)
			go func() { done <- tls.Server(there, serverConfig).Handshake() }()
			err = tls.Client(here, config.TLS).Handshake()
			if c.refused {
				if !errors.Is(explainConnectError(err), ErrOldTLS) {
					t.Errorf("%v is not explained", err)
				}
			} else if serverErr := <-done; err != nil || serverErr != nil {
				t.Errorf("client %v, server %v", err, serverErr)
			}
			_, _ = here.Close(), there.Close()
		})
	}
	plain := ServerOptions{DSN: "mysql:user@tcp(h)/shop", OldTLS: true}
	if config, err := plain.DriverConfig(); err != nil || config.TLS != nil {
		t.Errorf("a DSN without TLS: %+v, %v", config, err)
	}
	if err := explainConnectError(mysql.ErrOldPassword); errors.Is(err, mysql.ErrOldPassword) {
		t.Errorf("%v is not explained", err)
	}
}
