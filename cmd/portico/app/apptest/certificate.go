package apptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A KeyPair is a self-signed certificate for loopback and its key, in PEM.
type KeyPair struct{ Cert, Key []byte }

// NewKeyPair returns a new pair with the given serial number, which is valid for the given number
// of hours.
func NewKeyPair(t testing.TB, serial int64) KeyPair {
	t.Helper()
	return NewKeyPairUntil(t, serial, time.Now().Add(time.Duration(serial)*time.Hour))
}

// NewKeyPairUntil returns a new pair with the given serial number, which is valid until a time.
func NewKeyPairUntil(t testing.TB, serial int64, until time.Time) KeyPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "Portico's test"},
		NotBefore: until.Add(-100 * 24 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return KeyPair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
	}
}

// A KeyFolder has the file names of a pair.
type KeyFolder struct{ Cert, Key string }

// NewKeyFolder writes a pair to files in a new folder.
func NewKeyFolder(t testing.TB, pair KeyPair) KeyFolder {
	t.Helper()
	folder := t.TempDir()
	f := KeyFolder{Cert: filepath.Join(folder, "shop.pem"), Key: filepath.Join(folder, "shop.key")}
	ReplaceFile(t, f.Cert, pair.Cert)
	ReplaceFile(t, f.Key, pair.Key)
	return f
}

// Environ returns the settings that make the program use the files.
func (f KeyFolder) Environ() []string {
	return []string{"PORTICO_SERVER_TLS_CERT=" + f.Cert, "PORTICO_SERVER_TLS_KEY=" + f.Key}
}

// ReplaceFile atomically replaces the content of a file, as programs that renew
// certificates do.
func ReplaceFile(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// NewTLSClient returns a client that trusts the certificates of pairs only. It prefers
// HTTP/2, unless with names other protocols.
func NewTLSClient(t testing.TB, with *tls.Config, pairs ...KeyPair) *http.Client {
	t.Helper()
	with.RootCAs = x509.NewCertPool()
	for _, pair := range pairs {
		with.RootCAs.AppendCertsFromPEM(pair.Cert)
	}
	transport := &http.Transport{TLSClientConfig: with, ForceAttemptHTTP2: len(with.NextProtos) == 0}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: WaitTimeout}
}
