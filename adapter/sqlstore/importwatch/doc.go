// Package importwatch tells processes that cache records what imports of other processes change,
// and what has changed at a backend ([Log.Changed]).
//
// A process answers with nothing older than a committed import of another process. Each import starts
// a generation, and notes under it what it has changed. While somebody imports, a [Watch] reads the
// generation before the process answers from its cache; otherwise it looks once a second, and an
// importer waits until all have noticed it ([Log.Announce]). The protocol is in changes.go.
//
// It is tested with processes that import and processes that answer from what they have cached, on
// all engines.
package importwatch
