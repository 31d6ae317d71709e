//go:build !linux

package programs

// MemoryFolder returns "", as only Linux has a folder in memory.
func MemoryFolder() string { return "" }
