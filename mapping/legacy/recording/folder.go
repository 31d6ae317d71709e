package recording

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Permissions of files and folders: only the user of the program has access, because even
// masked data is customers' traffic.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// A folder holds files of exchanges. Each write replaces the current file as a whole, so
// that readers always find complete lists.
type folder struct {
	dir      string
	instance string
	total    int64 // bytes of all files, including pending writes

	name      string   // of the current file
	parts     [][]byte // exchanges of the current file
	size      int      // of parts, in bytes
	unwritten int      // number of parts that have not been written yet
}

// openFolder creates dir, or measures the files that are already in it.
func openFolder(dir, instance string) (*folder, error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, err
	}
	f := &folder{dir: dir, instance: instance}
	f.startFile()
	// Remove the files of a process that ended while writing.
	rest, err := filepath.Glob(filepath.Join(dir, ".exchanges-*-"+instance+"-*.part"))
	for _, path := range rest {
		err = errors.Join(err, ignoreMissing(os.Remove(path)))
	}
	if err == nil {
		f.total, err = f.measure()
	}
	return f, err
}

// startFile starts a new file. Its name sorts after the names of earlier files.
func (f *folder) startFile() {
	f.name = "exchanges-" + time.Now().UTC().Format("20060102T150405.000000000Z") + "-" + f.instance + "-" + rand.Text()[:6] + ".json"
	f.parts, f.size, f.unwritten = nil, 0, 0
}

// measure returns the total size of all files.
func (f *folder) measure() (int64, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // renamed by another process
		case err != nil:
			return 0, err
		case info.Mode().IsRegular():
			total += info.Size()
		}
	}
	return total, nil
}

// add appends an exchange to the current file.
func (f *folder) add(text []byte) {
	f.parts, f.unwritten = append(f.parts, bytes.TrimSpace(text)), f.unwritten+1
	f.size += len(text)
	f.total += int64(len(text))
}

// isFull reports whether the current file should be written and a new one started.
func (f *folder) isFull() bool { return f.size >= fileBytes }

// write writes the current file if it has new exchanges. It returns how many of them were
// written and how many were dropped because of an error.
func (f *folder) write() (written, dropped int, err error) {
	if f.unwritten == 0 {
		return 0, 0, nil
	}
	var text bytes.Buffer
	text.WriteString("[\n")
	text.Write(bytes.Join(f.parts, []byte(",\n")))
	text.WriteString("\n]\n")
	if err := replaceFile(filepath.Join(f.dir, f.name), text.Bytes()); err != nil {
		if f.isFull() { // drop these exchanges; later ones are as good
			dropped = f.unwritten
			f.startFile()
		}
		return 0, dropped, err
	}
	written, f.unwritten = f.unwritten, 0
	if f.isFull() {
		f.startFile()
		if total, err := f.measure(); err == nil { // other processes write as well
			f.total = total
		}
	}
	return written, 0, nil
}

// replaceFile replaces a file atomically.
func replaceFile(path string, text []byte) error {
	dir, name := filepath.Split(path)
	// Readers must not match the name of the temporary file.
	beside := filepath.Join(dir, "."+strings.TrimSuffix(name, ".json")+".part")
	err := os.MkdirAll(dir, folderMode)
	if err == nil {
		err = os.WriteFile(beside, text, fileMode)
	}
	if err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(beside)))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ExchangesFolder is the subfolder of record.dir with the recorded exchanges. The files
// with counts are beside it. The command compare and the contract suite read this folder.
const ExchangesFolder = "exchanges"
