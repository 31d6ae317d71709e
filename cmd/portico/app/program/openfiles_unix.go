//go:build linux || darwin

package program

import "golang.org/x/sys/unix"

// OpenFilesLimit returns the maximum number of open files of the process. The Go runtime raises it
// to the hard limit at start.
func OpenFilesLimit() (limit uint64, known bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0, false
	}
	return l.Cur, true
}
