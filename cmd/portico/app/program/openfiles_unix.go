//go:build linux || darwin

package program

import "golang.org/x/sys/unix"

// OpenFilesLimit returns how many files the process may open. Go programs raise it at their start
// as far as they may.
func OpenFilesLimit() (limit uint64, known bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0, false
	}
	return l.Cur, true
}
