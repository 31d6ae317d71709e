package records

import (
	"bytes"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxRecording is the maximum size of a file of recordings.
const maxRecording = 64 << 20

// removeRecordings removes the files below a folder that have the e-mail address of a person, or both
// names, and returns their names. Recordings are masked, so there should be none.
func removeRecordings(folder string, person sqlstore.ErasedPerson, dryRun bool) (removed []string, err error) {
	removed = []string{}
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	if err != nil {
		return removed, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		names, err := tells(root, path, person)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !names { // another process has replaced it
			return nil
		}
		if err == nil && !dryRun {
			err = root.Remove(path)
		}
		removed = append(removed, path)
		return err
	})
	return removed, err
}

// tells reports whether a file contains the e-mail address of a person, or both names.
func tells(root *os.Root, path string, person sqlstore.ErasedPerson) (bool, error) {
	file, err := root.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxRecording+1))
	if err != nil {
		return false, err
	}
	if len(content) > maxRecording {
		return false, fmt.Errorf("%s has more than %d bytes", path, maxRecording)
	}
	content = bytes.ToLower(content)
	has := func(text string) bool { return text != "" && bytes.Contains(content, []byte(strings.ToLower(text))) }
	email := person.Email
	return has(email) || has(strings.Replace(email, "@", "%40", 1)) || has(strings.Replace(email, "@", `\u0040`, 1)) ||
		hasValue(content, person.FirstName) && hasValue(content, person.LastName), nil
}

// hasValue reports whether a text is a whole value in lower-case content: a value of JSON or XML,
// or of either inside a JSON string. A match within a value does not count, because short names are
// parts of other words.
func hasValue(content []byte, text string) bool {
	if text == "" {
		return false
	}
	text = strings.ToLower(text)
	for _, quotes := range [][2]string{{`"`, `"`}, {`"`, `\"`}, {">", "<"}, {`\u003e`, `\u003c`}} {
		if bytes.Contains(content, []byte(quotes[0]+text+quotes[1])) {
			return true
		}
	}
	return false
}
