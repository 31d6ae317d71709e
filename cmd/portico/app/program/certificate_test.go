package program

import (
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config"
)

// TestTLSRenewal replaces the files of a server by good ones, by bad ones and one after
// the other, and checks which certificate is served.
func TestTLSRenewal(t *testing.T) {
	first, second, third := apptest.NewKeyPair(t, 1), apptest.NewKeyPair(t, 2), apptest.NewKeyPair(t, 3)
	files := apptest.NewKeyFolder(t, first)
	log := apptest.NewOutput()
	pair, err := NewCertificateReloader(files.Cert, files.Key, NewLogger(log, &config.Config{LogLevel: slog.LevelInfo}))
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
		{"the certificate alone is new", func() error { apptest.ReplaceFile(t, files.Cert, second.Cert); return nil }, 1, 1},
		{"and is looked at again", func() error { return nil }, 1, 1},
		{"the key follows", func() error { apptest.ReplaceFile(t, files.Key, second.Key); return nil }, 2, 1},
		{"rubbish", func() error { apptest.ReplaceFile(t, files.Cert, []byte("rubbish")); return nil }, 2, 2},
		{"gone", func() error { return os.Remove(files.Key) }, 2, 3},
		{"still gone", func() error { return nil }, 2, 3},
		{"both are back", func() error {
			apptest.ReplaceFile(t, files.Cert, third.Cert)
			apptest.ReplaceFile(t, files.Key, third.Key)
			return nil
		}, 3, 3},
		{"written over in place", func() error {
			// It has the length of the one before, so only its time, which may be coarse, shows the change.
			if err := os.WriteFile(files.Cert, third.Cert, fs.FileMode(0o600)); err != nil {
				return err
			}
			return os.Chtimes(files.Cert, time.Now(), time.Now().Add(time.Minute))
		}, 3, 3},
	}
	for _, step := range steps {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if got := serial(); got != step.want {
			t.Errorf("%s: certificate %d, want %d", step.name, got, step.want)
		}
		if warned := strings.Count(log.Text(), "certificate not renewed"); warned != step.warned {
			t.Errorf("%s: %d warnings, want %d, in\n%s", step.name, warned, step.warned, log.Text())
		}
	}
	if renewed := strings.Count(log.Text(), "certificate renewed"); renewed != 3 {
		t.Errorf("%d renewals are logged:\n%s", renewed, log.Text())
	}
	apptest.ReplaceFile(t, files.Cert, first.Cert)
	apptest.ReplaceFile(t, files.Key, first.Key)
	pair.checked = time.Now().Add(time.Hour)
	if got, err := pair.getCertificate(nil); err != nil || got.Leaf.SerialNumber.Int64() != 3 {
		t.Errorf("files that were looked at just now are read again (%v)", err)
	}
}

// TestCertificateExpiry checks the metric with the expiry time of the certificate, without a
// handshake.
func TestCertificateExpiry(t *testing.T) {
	t.Parallel()
	files := apptest.NewKeyFolder(t, apptest.NewKeyPair(t, 1))
	pair, err := NewCertificateReloader(files.Cert, files.Key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	RegisterCertificateExpiry(pair, registry)
	for _, hours := range []int64{1, 48} {
		renewed := apptest.NewKeyPair(t, hours)
		apptest.ReplaceFile(t, files.Cert, renewed.Cert)
		apptest.ReplaceFile(t, files.Key, renewed.Key)
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
