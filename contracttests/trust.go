package contracttests

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxAuthorities limits the size of a file of certificates, in bytes. The file of an
// operating system has a quarter of a megabyte.
const maxAuthorities = 4 << 20

// Trust returns the TLS configuration for the flags --ca and --insecure, for use as
// [Target.TLS]. ca is the name of a PEM file with the certificate authorities to trust;
// insecure accepts any certificate. Trust returns nil if neither is set, and an error if
// both are.
func Trust(ca string, insecure bool) (*tls.Config, error) {
	switch {
	case insecure && ca != "":
		return nil, errors.New("--insecure accepts any certificate, so --ca has no effect: give one of the two")
	case insecure:
		return &tls.Config{InsecureSkipVerify: true}, nil // #nosec G402 -- asked for by name
	case ca == "":
		return nil, nil
	}
	file, err := os.Open(ca)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	pem, err := io.ReadAll(io.LimitReader(file, maxAuthorities))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca: %s holds no certificate in PEM", ca)
	}
	return &tls.Config{RootCAs: pool}, nil
}
