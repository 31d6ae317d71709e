package testenv

import (
	"strconv"
	"syscall"
)

// reserve reports whether this process is the first to ask for a port, among those that run. It holds the
// port until it ends, by an abstract socket whose name only one process can have.
func reserve(port int) bool {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: "@portico-test-port-" + strconv.Itoa(port)}); err != nil {
		_ = syscall.Close(fd) // it holds nothing
		return false
	}
	return true
}
