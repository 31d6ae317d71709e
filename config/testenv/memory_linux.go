package testenv

import "golang.org/x/sys/unix"

// MemoryFolder returns a folder in memory for temporary files, or "" if there is none
// with enough room. Tests with databases take a third less time there than on a disk.
func MemoryFolder() string {
	const folder, room = "/dev/shm", 2 << 30 // most Linux systems have it
	var fs unix.Statfs_t
	if unix.Statfs(folder, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room || fs.Flags&unix.ST_NOEXEC != 0 ||
		unix.Access(folder, unix.W_OK|unix.X_OK) != nil {
		return ""
	}
	return folder
}
