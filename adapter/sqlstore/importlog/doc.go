// Package importlog stores the systems from which records came, and digests of their values.
//
// A later import can therefore leave out unchanged records. The log also stores how far the changes
// of such a system have been imported, and the dead letters: its records that wait to be tried
// again. One process imports at a time ([Log.Lock]).
//
// It is tested on all engines, with two processes that compete for the lock.
package importlog
