package contracttests

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxAuthorities bounds a file of certificates, in bytes: that of a system has a
// quarter of a megabyte.
const maxAuthorities = 4 << 20

// Trust returns Target.TLS for the flags --ca and --insecure: for a server whose
// certificate comes from one of the authorities in a file, which are in PEM, or for
// any. Without either it is nil.
func Trust(ca string, insecure bool) (*tls.Config, error) {
	switch {
	case insecure && ca != "":
		return nil, errors.New("--insecure trusts everybody, so that --ca means nothing: give one of the two")
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
