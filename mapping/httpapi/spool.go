package httpapi

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/budget"
)

// A spool keeps replies in temporary files for as long as they are being sent: those
// whose length has to be known before the first byte, and those for which there is no
// room in memory because many clients are slow.
type spool struct {
	dir   string // "" is the system's folder for temporary files
	bytes *budget.Budget
}

// check makes the folder and fails where no file can be made in it.
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

// A spoolFile is one reply in a spool. It has a file only once something is written.
type spoolFile struct {
	spool *spool
	file  *os.File
	size  int64
}

// Write appends to the reply. Errors are of kind Unavailable: the spool is full, or the
// disk cannot be written.
func (f *spoolFile) Write(piece []byte) (int, error) {
	if f.file == nil {
		file, err := os.CreateTemp(f.spool.dir, "portico-reply-*")
		if err != nil {
			return 0, spoolFault(err)
		}
		// The file goes with the process, however that ends. Systems that do not remove
		// open files remove it when it is closed.
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

// WriteTo sends the whole reply.
func (f *spoolFile) WriteTo(w io.Writer) (int64, error) {
	if f.file == nil {
		return 0, nil
	}
	return io.Copy(w, io.NewSectionReader(f.file, 0, f.size))
}

// Close removes the reply.
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
