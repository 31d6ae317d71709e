//go:build linux

package sqltest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// share returns the server that the test binaries of one go command use together, or one of this test binary
// alone if something else than a go command has started it.
func share(p *program, arguments ...string) (*Server, error) {
	command := os.Getppid()
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", command)); err != nil || string(name) != "go\n" {
		return start(p, arguments...)
	}
	return shareUntil(command, p, arguments...)
}

// shareUntil returns the server that test binaries with the same owner, a process, use together. The first
// binary starts it, and it runs until the owner ends.
func shareUntil(owner int, p *program, arguments ...string) (*Server, error) {
	s := &Server{program: p, owner: owner}
	s.shared = filepath.Join(cmp.Or(p.filesIn, os.TempDir()), fmt.Sprintf("portico-%s-%d-%d", p.name, os.Geteuid(), owner))
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	written, err := os.ReadFile(s.shared)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Sscan(string(written), &s.port); err == nil {
		if s.admin, err = sql.Open(p.driver, p.admin(s.port)); err != nil {
			return nil, err
		}
		if s.admin.PingContext(context.Background()) == nil {
			return s, nil
		}
		_ = s.admin.Close() // of a server that was killed
	}
	if err := s.start(arguments...); err != nil {
		return nil, err
	}
	return s, os.WriteFile(s.shared, fmt.Append(nil, s.port), 0o600)
}

// lock waits until no other test binary has the lock of a shared server. A server of one binary has none.
func (s *Server) lock() (unlock func(), err error) {
	if s.shared == "" {
		return func() {}, nil
	}
	file, err := os.OpenFile(s.shared, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err == nil {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err == nil {
			return func() { _ = file.Close() }, nil
		}
		err = errors.Join(err, file.Close())
	}
	return nil, err
}
