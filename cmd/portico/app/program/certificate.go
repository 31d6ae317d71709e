package program

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// certificateCheckInterval is the minimum time between two checks for changed certificate
// files.
const certificateCheckInterval = time.Second

// A certificateReloader serves a certificate and reloads it when its files change. Renewal
// replaces the two files one after the other. Until they match again, the previous pair
// stays in use.
type certificateReloader struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	Pair    *tls.Certificate
	files   [2]os.FileInfo // state of the files when they were last read; nil if missing
	checked time.Time      // time of the last check
}

// NewCertificateReloader loads the pair. It fails if the files are unreadable or do not
// match.
func NewCertificateReloader(certFile, keyFile string, log *slog.Logger) (*certificateReloader, error) {
	c := &certificateReloader{certFile: certFile, keyFile: keyFile, log: log}
	files, err := c.stat()
	if err == nil {
		err = c.load(files)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nset server.tls_cert (PORTICO_SERVER_TLS_CERT) to a certificate and server.tls_key (PORTICO_SERVER_TLS_KEY) to its private key, both in PEM", err)
	}
	c.checked = time.Now()
	return c, nil
}

// TLSConfig returns the TLS configuration of a server with the certificate.
func (c *certificateReloader) TLSConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.getCertificate}
}

// RegisterCertificateExpiry registers a metric with the expiry time of the certificate in use.
func RegisterCertificateExpiry(c *certificateReloader, registerer prometheus.Registerer) {
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "portico_certificate_expiry_timestamp_seconds",
		Help: "Unix time at which the certificate of the contract's port expires. Without server.tls_cert there is none.",
	}, func() float64 { return float64(c.current().Leaf.NotAfter.Unix()) })
}

// getCertificate returns the current pair for a handshake.
func (c *certificateReloader) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current(), nil
}

// current returns the current pair. It first reloads changed files, if the last check is
// certificateCheckInterval ago.
func (c *certificateReloader) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certificateCheckInterval {
		c.checked = now
		c.reloadIfChanged()
	}
	return c.Pair
}

// reloadIfChanged loads the files if they have changed. It logs a failure once for each
// change.
func (c *certificateReloader) reloadIfChanged() {
	files, err := c.stat()
	if err != nil {
		if c.files != [2]os.FileInfo{} {
			c.log.Warn("certificate not renewed", "error", err)
		}
		c.files = [2]os.FileInfo{} // load the files when they are back
		return
	}
	if unchanged(c.files[0], files[0]) && unchanged(c.files[1], files[1]) {
		return
	}
	if err := c.load(files); err != nil {
		c.log.Warn("certificate not renewed", "error", err)
		return
	}
	c.log.Info("certificate renewed", "expires", c.Pair.Leaf.NotAfter)
}

// stat returns the present state of both files.
func (c *certificateReloader) stat() (files [2]os.FileInfo, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if files[i], err = os.Stat(name); err != nil {
			return [2]os.FileInfo{}, err
		}
	}
	return files, nil
}

// load reads the pair. The caller has called stat for files before: a file that is written
// between stat and load counts as changed at the next check.
func (c *certificateReloader) load(files [2]os.FileInfo) error {
	c.files = files
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", c.certFile, c.keyFile, err)
	}
	c.Pair = &pair
	return nil
}

// unchanged reports whether two states of a file have the same content. A file that was missing
// before has changed.
func unchanged(before, now os.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.ModTime().Equal(now.ModTime()) && before.Size() == now.Size()
}
