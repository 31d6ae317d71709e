package rules

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxFileName is the longest name of a media file, in bytes, with its folders.
const maxFileName = 255

var (
	fileName    = regexp.MustCompile(`\A[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+\z`)
	errFileName = errors.New("must be a path of letters, digits and _.- with at least one folder, of at most 255 bytes")
)

// ValidFileName reports whether a media file may have the name: the path must stay below
// the folder for media and mean the same on every operating system.
func ValidFileName(name string) bool {
	return len(name) <= maxFileName && fileName.MatchString(name) &&
		!slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part == "." || part == ".." })
}

// reserveName reserves a name for the file of a new image and returns it: the requested
// name, or the first free name of its series from a number on (product_parts 2.5).
func reserveName(ctx context.Context, tx Tx, op string, r adapter.Record) (string, error) {
	if err := tx.LockName(ctx, "media"); err != nil {
		return "", err
	}
	name := r.Get("file").Text()
	taken, err := tx.Files(ctx, name)
	if err == nil && len(taken) > 0 {
		var number int64
		number, err = tx.FreeNumber(ctx, name, max(1, r.Get("number_from").Int()))
		name = numberedName(name, number)
	}
	if err == nil && !ValidFileName(name) {
		err = Invalid(op, "file", errFileName)
	}
	if err != nil {
		return "", err
	}
	series, number := FileSeries(name)
	return name, tx.InsertFiles(ctx, File{Name: name, MediaType: r.Get("media_type").Text(), Series: series, Number: number})
}

// numberedPattern matches the names that numberedName may have made.
var numberedPattern = regexp.MustCompile(`\A(.*)_([1-9][0-9]{0,17})(\.[^./]*)?\z`)

// FileSeries returns the series that a name belongs to, and its number in it; "" and 0 if
// it belongs to none. The series of "a_2.png" is "a.png".
func FileSeries(name string) (series string, number int64) {
	parts := numberedPattern.FindStringSubmatch(name)
	if parts == nil {
		return "", 0
	}
	n, err := strconv.ParseInt(parts[2], 10, 64)
	first := parts[1] + parts[3]
	if err != nil || first == "" || numberedName(first, n) != name { // such as "a.b_1", which numberedName never makes
		return "", 0
	}
	return first, n
}

// numberedName inserts a number before the extension of a file name.
func numberedName(base string, number int64) string {
	extension := path.Ext(base)
	return fmt.Sprintf("%s_%d%s", base[:len(base)-len(extension)], number, extension)
}
