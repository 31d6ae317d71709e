package program

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WritePrivately writes a file that only its owner can read. The file appears under its
// name when it is complete.
func WritePrivately(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".portico-*") // readable only by its owner
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err = errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
