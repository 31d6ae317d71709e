package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/config"
)

// A keyPair is a self-signed certificate for loopback and its key, in PEM.
type keyPair struct{ cert, key []byte }

// newKeyPair returns a new pair with the given serial number, which is valid for as many hours.
func newKeyPair(t *testing.T, serial int64) keyPair {
	t.Helper()
	return newKeyPairUntil(t, serial, time.Now().Add(time.Duration(serial)*time.Hour))
}

// newKeyPairUntil returns a new pair with the given serial number, which is valid until a time.
func newKeyPairUntil(t *testing.T, serial int64, until time.Time) keyPair {
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
	return keyPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
	}
}

// A keyFolder has the file names of a pair.
type keyFolder struct{ cert, key string }

// newKeyFolder writes a pair to files in a new folder.
func newKeyFolder(t *testing.T, pair keyPair) keyFolder {
	t.Helper()
	folder := t.TempDir()
	f := keyFolder{cert: filepath.Join(folder, "shop.pem"), key: filepath.Join(folder, "shop.key")}
	replaceFile(t, f.cert, pair.cert)
	replaceFile(t, f.key, pair.key)
	return f
}

// environ returns the settings that make the program use the files.
func (f keyFolder) environ() []string {
	return []string{"PORTICO_SERVER_TLS_CERT=" + f.cert, "PORTICO_SERVER_TLS_KEY=" + f.key}
}

// replaceFile atomically replaces the content of a file, as programs that renew
// certificates do.
func replaceFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// newTLSClient returns a client that trusts the certificates of pairs only. It prefers
// HTTP/2, unless with names other protocols.
func newTLSClient(t *testing.T, with *tls.Config, pairs ...keyPair) *http.Client {
	t.Helper()
	with.RootCAs = x509.NewCertPool()
	for _, pair := range pairs {
		with.RootCAs.AppendCertsFromPEM(pair.cert)
	}
	transport := &http.Transport{TLSClientConfig: with, ForceAttemptHTTP2: len(with.NextProtos) == 0}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: waitTimeout}
}

// TestTLS calls a program over HTTPS, with signatures that cover the https address.
func TestTLS(t *testing.T) {
	pair := newKeyPair(t, 1)
	p := start(t, newKeyFolder(t, pair).environ(), "--demo")
	if !strings.HasPrefix(p.contract, "https://127.0.0.1:") {
		t.Fatalf("the contract is announced at %s", p.contract)
	}
	get := func(t *testing.T, with *tls.Config, header ...string) (reply, *http.Response) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.contract+"/api/rest/stockitems/1", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response, err := newTLSClient(t, with, pair).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return readReply(t, response), response
	}
	for name, c := range map[string]struct {
		signed     string // base URL in the signature
		protocols  []string
		most       uint16
		wantStatus int
		wantMajor  int
	}{
		"HTTP/2":          {p.contract, nil, 0, 200, 2},
		"HTTP/1.1":        {p.contract, []string{"http/1.1"}, 0, 200, 1},
		"TLS 1.2":         {p.contract, nil, tls.VersionTLS12, 200, 2},
		"signed for http": {strings.Replace(p.contract, "https", "http", 1), nil, 0, 401, 2},
	} {
		t.Run(name, func(t *testing.T) {
			nonce := strings.ReplaceAll(name, " ", "-")
			got, response := get(t, &tls.Config{NextProtos: c.protocols, MaxVersion: c.most},
				"Authorization", signedHeader("GET", c.signed+"/api/rest/stockitems/1", nonce))
			if got.status != c.wantStatus || response.ProtoMajor != c.wantMajor {
				t.Errorf("%d over %s: %s", got.status, response.Proto, got.body)
			}
		})
	}
	t.Run("TLS 1.1", func(t *testing.T) {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(p.contract, "https://"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		if err == nil {
			_ = conn.Close()
			t.Error("a handshake of TLS 1.1 succeeds")
		}
	})
	t.Run("no TLS", func(t *testing.T) {
		if got := send(t, "GET", strings.Replace(p.contract, "https", "http", 1)+"/api/rest/stockitems/1", "", "Authorization", demoAdmin()); got.status != http.StatusBadRequest {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
	t.Run("operators' port", func(t *testing.T) {
		if got := send(t, "GET", p.ops+"/readyz", ""); got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
	p.stop(t)
}

// TestTLSAtStart checks that the program does not start with files that are not a pair.
func TestTLSAtStart(t *testing.T) {
	t.Parallel()
	good, other := newKeyPair(t, 1), newKeyPair(t, 2)
	for name, c := range map[string]struct {
		cert, key []byte // nil: no file
		want      string
	}{
		"no certificate":      {nil, good.key, "no such file"},
		"no key":              {good.cert, nil, "no such file"},
		"key of another":      {good.cert, other.key, "private key does not match public key"},
		"no PEM":              {[]byte("hello"), good.key, "failed to find any PEM data"},
		"swapped":             {good.key, good.cert, "failed to find certificate PEM data"},
		"certificate cut off": {good.cert[:len(good.cert)/2], good.key, "failed to find any PEM data"},
	} {
		t.Run(name, func(t *testing.T) {
			files := newKeyFolder(t, keyPair{c.cert, c.key})
			for file, content := range map[string][]byte{files.cert: c.cert, files.key: c.key} {
				if content == nil {
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
				}
			}
			p := launch(t, files.environ(), "--demo", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
			if code := p.wait(t); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			for _, want := range []string{c.want, "PORTICO_SERVER_TLS_CERT", filepath.Dir(files.cert)} {
				if said := p.stderr.text(); !strings.Contains(said, want) {
					t.Errorf("no %q in\n%s", want, said)
				}
			}
		})
	}
}

// TestTLSRenewal replaces the files of a server by good ones, by bad ones and one after
// the other, and checks which certificate is served.
func TestTLSRenewal(t *testing.T) {
	first, second, third := newKeyPair(t, 1), newKeyPair(t, 2), newKeyPair(t, 3)
	files := newKeyFolder(t, first)
	log := newOutput()
	pair, err := newCertificateReloader(files.cert, files.key, newLogger(log, &config.Config{LogLevel: slog.LevelInfo}))
	if err != nil {
		t.Fatal(err)
	}
	// serial returns the serial number of the certificate in use, after a check of the files.
	serial := func() int64 {
		t.Helper()
		pair.checked = time.Time{}
		got, err := pair.getCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf.SerialNumber.Int64()
	}
	steps := []struct {
		name   string
		change func() error
		want   int64
		warned int // warnings so far
	}{
		{"nothing has changed", func() error { return nil }, 1, 0},
		{"the certificate alone is new", func() error { replaceFile(t, files.cert, second.cert); return nil }, 1, 1},
		{"and is looked at again", func() error { return nil }, 1, 1},
		{"the key follows", func() error { replaceFile(t, files.key, second.key); return nil }, 2, 1},
		{"rubbish", func() error { replaceFile(t, files.cert, []byte("rubbish")); return nil }, 2, 2},
		{"gone", func() error { return os.Remove(files.key) }, 2, 3},
		{"still gone", func() error { return nil }, 2, 3},
		{"both are back", func() error {
			replaceFile(t, files.cert, third.cert)
			replaceFile(t, files.key, third.key)
			return nil
		}, 3, 3},
		{"written over in place", func() error {
			// It has the length of the one before, so only its time, which may be coarse, shows the change.
			if err := os.WriteFile(files.cert, third.cert, fs.FileMode(0o600)); err != nil {
				return err
			}
			return os.Chtimes(files.cert, time.Now(), time.Now().Add(time.Minute))
		}, 3, 3},
	}
	for _, step := range steps {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if got := serial(); got != step.want {
			t.Errorf("%s: certificate %d, want %d", step.name, got, step.want)
		}
		if warned := strings.Count(log.text(), "certificate not renewed"); warned != step.warned {
			t.Errorf("%s: %d warnings, want %d, in\n%s", step.name, warned, step.warned, log.text())
		}
	}
	if renewed := strings.Count(log.text(), "certificate renewed"); renewed != 3 {
		t.Errorf("%d renewals are logged:\n%s", renewed, log.text())
	}
	replaceFile(t, files.cert, first.cert)
	replaceFile(t, files.key, first.key)
	pair.checked = time.Now().Add(time.Hour)
	if got, err := pair.getCertificate(nil); err != nil || got.Leaf.SerialNumber.Int64() != 3 {
		t.Errorf("files that were looked at just now are read again (%v)", err)
	}
}

// TestTLSRenewalOfAServer checks that a running program serves a renewed certificate.
func TestTLSRenewalOfAServer(t *testing.T) {
	t.Parallel()
	first, second := newKeyPair(t, 1), newKeyPair(t, 2)
	files := newKeyFolder(t, first)
	p := start(t, files.environ(), "--demo")
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	serial := func() int64 {
		t.Helper()
		var served int64
		client := newTLSClient(t, &tls.Config{VerifyConnection: func(s tls.ConnectionState) error {
			served = s.PeerCertificates[0].SerialNumber.Int64()
			return nil
		}}, first, second)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.contract+"/api/rest/products", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := readReply(t, response); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		client.CloseIdleConnections()
		return served
	}
	if got := serial(); got != 1 {
		t.Fatalf("certificate %d", got)
	}
	replaceFile(t, files.key, second.key)
	replaceFile(t, files.cert, second.cert)
	for serial() != 2 { // until ctx ends
	}
	p.stop(t)
}

// TestCertificateExpiry checks the metric of when the certificate expires, without a handshake.
func TestCertificateExpiry(t *testing.T) {
	t.Parallel()
	files := newKeyFolder(t, newKeyPair(t, 1))
	pair, err := newCertificateReloader(files.cert, files.key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCertificateExpiry(pair))
	for _, hours := range []int64{1, 48} {
		renewed := newKeyPair(t, hours)
		replaceFile(t, files.cert, renewed.cert)
		replaceFile(t, files.key, renewed.key)
		pair.mu.Lock()
		pair.checked = time.Time{}
		pair.mu.Unlock()
		families, err := registry.Gather()
		if err != nil || len(families) != 1 || families[0].GetName() != "portico_certificate_expiry_timestamp_seconds" {
			t.Fatalf("%v: %v", families, err)
		}
		at := time.Unix(int64(families[0].Metric[0].Gauge.GetValue()), 0)
		if left := time.Until(at); left > time.Duration(hours)*time.Hour || left < time.Duration(hours)*time.Hour-time.Minute {
			t.Errorf("a certificate for %d hours expires in %s", hours, left)
		}
	}
}
