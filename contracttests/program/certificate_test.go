package program

import (
	"context"
	"crypto/tls"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTLS calls a program over HTTPS, with signatures that cover the https address.
func TestTLS(t *testing.T) {
	pair := apptest.NewKeyPair(t, 1)
	p := apptest.Start(t, apptest.NewKeyFolder(t, pair).Environ(), "--demo")
	if !strings.HasPrefix(p.Contract, "https://127.0.0.1:") {
		t.Fatalf("the contract is announced at %s", p.Contract)
	}
	get := func(t *testing.T, with *tls.Config, header ...string) (apptest.Reply, *http.Response) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Contract+"/api/rest/stockitems/1", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response, err := apptest.NewTLSClient(t, with, pair).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return apptest.ReadReply(t, response), response
	}
	for name, c := range map[string]struct {
		signed     string // base URL in the signature
		protocols  []string
		most       uint16
		wantStatus int
		wantMajor  int
	}{
		"HTTP/2":          {p.Contract, nil, 0, 200, 2},
		"HTTP/1.1":        {p.Contract, []string{"http/1.1"}, 0, 200, 1},
		"TLS 1.2":         {p.Contract, nil, tls.VersionTLS12, 200, 2},
		"signed for http": {strings.Replace(p.Contract, "https", "http", 1), nil, 0, 401, 2},
	} {
		t.Run(name, func(t *testing.T) {
			nonce := strings.ReplaceAll(name, " ", "-")
			got, response := get(t, &tls.Config{NextProtos: c.protocols, MaxVersion: c.most},
				"Authorization", apptest.SignedHeader("GET", c.signed+"/api/rest/stockitems/1", nonce))
			if got.Status != c.wantStatus || response.ProtoMajor != c.wantMajor {
				t.Errorf("%d over %s: %s", got.Status, response.Proto, got.Body)
			}
		})
	}
	t.Run("TLS 1.1", func(t *testing.T) {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(p.Contract, "https://"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		if err == nil {
			_ = conn.Close()
			t.Error("a handshake of TLS 1.1 succeeds")
		}
	})
	t.Run("no TLS", func(t *testing.T) {
		if got := apptest.Send(t, "GET", strings.Replace(p.Contract, "https", "http", 1)+"/api/rest/stockitems/1", "", "Authorization", apptest.DemoAdmin()); got.Status != http.StatusBadRequest {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	})
	t.Run("operators' port", func(t *testing.T) {
		if got := apptest.Send(t, "GET", p.Ops+"/readyz", ""); got.Status != http.StatusOK {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	})
	p.Stop(t)
}

// TestTLSAtStart checks that the program does not start with files that are not a pair.
func TestTLSAtStart(t *testing.T) {
	t.Parallel()
	good, other := apptest.NewKeyPair(t, 1), apptest.NewKeyPair(t, 2)
	for name, c := range map[string]struct {
		cert, key []byte // nil: no file
		want      string
	}{
		"no certificate":      {nil, good.Key, "no such file"},
		"no key":              {good.Cert, nil, "no such file"},
		"key of another":      {good.Cert, other.Key, "private key does not match public key"},
		"no PEM":              {[]byte("hello"), good.Key, "failed to find any PEM data"},
		"swapped":             {good.Key, good.Cert, "failed to find certificate PEM data"},
		"certificate cut off": {good.Cert[:len(good.Cert)/2], good.Key, "failed to find any PEM data"},
	} {
		t.Run(name, func(t *testing.T) {
			files := apptest.NewKeyFolder(t, apptest.KeyPair{Cert: c.cert, Key: c.key})
			for file, content := range map[string][]byte{files.Cert: c.cert, files.Key: c.key} {
				if content == nil {
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
				}
			}
			p := apptest.Launch(t, files.Environ(), "--demo", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
			if code := p.Wait(t); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			for _, want := range []string{c.want, "PORTICO_SERVER_TLS_CERT", filepath.Dir(files.Cert)} {
				if said := p.Stderr.Text(); !strings.Contains(said, want) {
					t.Errorf("no %q in\n%s", want, said)
				}
			}
		})
	}
}

// TestTLSRenewalOfAServer checks that a running program serves a renewed certificate.
func TestTLSRenewalOfAServer(t *testing.T) {
	t.Parallel()
	first, second := apptest.NewKeyPair(t, 1), apptest.NewKeyPair(t, 2)
	files := apptest.NewKeyFolder(t, first)
	p := apptest.Start(t, files.Environ(), "--demo")
	ctx, cancel := context.WithTimeout(t.Context(), apptest.WaitTimeout)
	defer cancel()
	serial := func() int64 {
		t.Helper()
		var served int64
		client := apptest.NewTLSClient(t, &tls.Config{VerifyConnection: func(s tls.ConnectionState) error {
			served = s.PeerCertificates[0].SerialNumber.Int64()
			return nil
		}}, first, second)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Contract+"/api/rest/products", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := apptest.ReadReply(t, response); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		client.CloseIdleConnections()
		return served
	}
	if got := serial(); got != 1 {
		t.Fatalf("certificate %d", got)
	}
	apptest.ReplaceFile(t, files.Key, second.Key)
	apptest.ReplaceFile(t, files.Cert, second.Cert)
	for serial() != 2 { // until ctx ends
	}
	p.Stop(t)
}
