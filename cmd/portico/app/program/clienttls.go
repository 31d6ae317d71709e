package program

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// ClientTLS returns the TLS configuration of a client. It trusts the certificates in the PEM file
// ca, and presents the client certificate in the PEM files cert and key. If ca is empty, it trusts
// the system's certificates; if cert and key are, it presents none.
func ClientTLS(ca, cert, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		c.RootCAs = x509.NewCertPool()
		if err := AddCertificates(c.RootCAs, ca); err != nil {
			return nil, err
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("load the client certificate and its key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// AddCertificates adds the certificates of a PEM file to a pool.
func AddCertificates(to *x509.CertPool, file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the trusted certificates: %w", err)
	}
	if !to.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s contains no PEM certificate", file)
	}
	return nil
}
