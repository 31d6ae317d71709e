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

// Files and folders are for those who run the program: what is masked is still
// somebody's traffic.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// A folder holds files of exchanges. The one that grows is written anew each time,
// so that whoever looks finds whole lists.
type folder struct {
	dir      string
	instance string
	total    int64 // bytes of all files, and of what is to be written

	name  string   // of the file that grows
	parts [][]byte // its exchanges
	size  int      // of parts, in bytes
	fresh int      // of parts, how many are in no file yet
}

// openFolder makes dir, or looks at what is there already.
func openFolder(dir, instance string) (*folder, error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, err
	}
	f := &folder{dir: dir, instance: instance}
	f.begin()
	// What a process has left that ended in the middle of writing.
	rest, err := filepath.Glob(filepath.Join(dir, ".exchanges-*-"+instance+"-*.part"))
	for _, path := range rest {
		err = errors.Join(err, ignoreMissing(os.Remove(path)))
	}
	if err == nil {
		f.total, err = f.measure()
	}
	return f, err
}

// begin begins another file. Its name follows those of before.
func (f *folder) begin() {
	f.name = "exchanges-" + time.Now().UTC().Format("20060102T150405.000000000Z") + "-" + f.instance + "-" + rand.Text()[:6] + ".json"
	f.parts, f.size, f.fresh = nil, 0, 0
}

// measure returns the size of all files.
func (f *folder) measure() (int64, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process has renamed it
		case err != nil:
			return 0, err
		case info.Mode().IsRegular():
			total += info.Size()
		}
	}
	return total, nil
}

// add takes an exchange into the file that grows.
func (f *folder) add(text []byte) {
	f.parts, f.fresh = append(f.parts, bytes.TrimSpace(text)), f.fresh+1
	f.size += len(text)
	f.total += int64(len(text))
}

// isLong reports whether the file that grows is to be written and another begun.
func (f *folder) isLong() bool { return f.size >= fileBytes }

// write writes what is new. It returns how many exchanges came into the file, and how
// many are given up for an error.
func (f *folder) write() (written, dropped int, err error) {
	if f.fresh == 0 {
		return 0, 0, nil
	}
	var text bytes.Buffer
	text.WriteString("[\n")
	text.Write(bytes.Join(f.parts, []byte(",\n")))
	text.WriteString("\n]\n")
	if err := replaceFile(filepath.Join(f.dir, f.name), text.Bytes()); err != nil {
		if f.isLong() { // the next ones are as good
			dropped = f.fresh
			f.begin()
		}
		return 0, dropped, err
	}
	written, f.fresh = f.fresh, 0
	if f.isLong() {
		f.begin()
		if total, err := f.measure(); err == nil { // others write as well
			f.total = total
		}
	}
	return written, 0, nil
}

// replaceFile writes a file beside its place and puts it there as a whole.
func replaceFile(path string, text []byte) error {
	dir, name := filepath.Split(path)
	// The name ends otherwise than those that are read.
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
