package testenv

import (
	"bytes"
	"sync"
)

// A Log is a log that a test reads while goroutines write it. The zero value is empty and ready for use.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the log. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
