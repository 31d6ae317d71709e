package httpapi

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/limits"
)

// A spool stores replies in temporary files while they are being sent: replies whose length
// must be known before the first byte, and replies that do not fit into memory because many
// clients are slow.
type spool struct {
	dir   string // "" is the system's folder for temporary files
	bytes *limits.Budget
}

// check creates the folder and fails if no file can be created in it.
func (s *spool) check() error {
	if s.dir != "" {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return err
		}
	}
	probe := &spoolFile{spool: s}
	_, err := probe.Write([]byte{0})
	return errors.Join(err, probe.Close())
}

// A spoolFile is one reply in a spool. The file is created by the first write.
type spoolFile struct {
	spool *spool
	file  *os.File
	size  int64
}

// Write appends to the reply. Errors are of kind Unavailable: the spool is full, or the file
// cannot be written.
func (f *spoolFile) Write(piece []byte) (int, error) {
	if f.file == nil {
		file, err := os.CreateTemp(f.spool.dir, "portico-reply-*")
		if err != nil {
			return 0, spoolFault(err)
		}
		// Remove the file at once, so that it disappears however the process ends. On
		// systems that cannot remove open files Close removes it.
		_ = os.Remove(file.Name())
		f.file = file
	}
	if err := f.spool.bytes.TryTake(int64(len(piece))); err != nil {
		return 0, err
	}
	f.size += int64(len(piece))
	n, err := f.file.Write(piece)
	if err != nil {
		return n, spoolFault(err)
	}
	return n, nil
}

// WriteTo sends the complete reply.
func (f *spoolFile) WriteTo(w io.Writer) (int64, error) {
	if f.file == nil {
		return 0, nil
	}
	return io.Copy(w, io.NewSectionReader(f.file, 0, f.size))
}

// Close deletes the reply.
func (f *spoolFile) Close() error {
	if f.file == nil {
		return nil
	}
	f.spool.bytes.Return(f.size)
	err := f.file.Close()
	if removed := os.Remove(f.file.Name()); removed != nil && !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

func spoolFault(err error) error {
	return &adapter.Error{Kind: adapter.Unavailable, Op: "spool reply", Err: fmt.Errorf("temporary file: %w", err)}
}
