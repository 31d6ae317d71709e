//go:build !linux

package testenv

// MemoryFolder returns "", as only Linux has a folder in memory.
func MemoryFolder() string { return "" }
