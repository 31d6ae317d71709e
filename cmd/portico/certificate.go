package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how often the files of a certificate are looked at, at most.
const lookEvery = time.Second

// A certificate is a pair of files, and what they held when they were last good.
// Whoever renews them replaces one after the other: until they match again the pair
// before stays in use.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	seen   [2]os.FileInfo // the files as they were when they were last read
	looked time.Time
}

// newCertificate reads the pair, which has to be good.
func newCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	seen, err := c.look()
	if err == nil {
		err = c.read(seen)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nset server.tls_cert (PORTICO_SERVER_TLS_CERT) to a certificate and server.tls_key (PORTICO_SERVER_TLS_KEY) to its private key, both in PEM", err)
	}
	c.looked = time.Now()
	return c, nil
}

// tlsConfig returns the settings of a server with c.
func (c *certificate) tlsConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// get returns the pair in use, for a handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		c.renew()
	}
	return c.pair, nil
}

// renew takes up files that have changed. What is wrong with them is logged once
// for each change.
func (c *certificate) renew() {
	seen, err := c.look()
	if err != nil {
		if c.seen != [2]os.FileInfo{} {
			c.log.Warn("certificate not renewed", "error", err)
		}
		c.seen = [2]os.FileInfo{} // whatever stands there next is new
		return
	}
	if same(c.seen[0], seen[0]) && same(c.seen[1], seen[1]) {
		return
	}
	if err := c.read(seen); err != nil {
		c.log.Warn("certificate not renewed", "error", err)
		return
	}
	c.log.Info("certificate renewed", "expires", c.pair.Leaf.NotAfter)
}

// look returns the files as they are now.
func (c *certificate) look() (seen [2]os.FileInfo, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if seen[i], err = os.Stat(name); err != nil {
			return [2]os.FileInfo{}, err
		}
	}
	return seen, nil
}

// read reads the files after they were seen: what is written in between is seen the
// next time.
func (c *certificate) read(seen [2]os.FileInfo) error {
	c.seen = seen
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair = &pair
	return nil
}

// same reports whether a file has stayed what it was. One that was not there then
// is not the same.
func same(before, now os.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.ModTime().Equal(now.ModTime()) && before.Size() == now.Size()
}
