// Package importlog notes from which systems records came and what these had.
//
// So a later import can leave out what has not changed. It also notes how far the changes of such a
// system have come, and which of its records wait to be tried again. One process imports at a time
// ([Log.Lock]).
//
// It is tested on all engines, with two processes that want the lock.
package importlog
