//go:build !linux && !darwin

package program

// OpenFilesLimit is not known here.
func OpenFilesLimit() (limit uint64, known bool) { return 0, false }
