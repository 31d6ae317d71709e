package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// otherFile matches the relative path of a file that a script of a shell or of Node.js reads.
var otherFile = regexp.MustCompile(`(?m)^(?:# shellcheck source=|import .* from ")(\.{1,2}/[^"\s]+)`)

// TestScriptsFindFiles checks that the files exist that scripts read, most of which run at night only.
func TestScriptsFindFiles(t *testing.T) {
	t.Parallel()
	named := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry fs.DirEntry, err error) error {
		extension := filepath.Ext(path)
		if err != nil || extension != ".sh" && extension != ".mjs" || filepath.Base(filepath.Dir(path)) == "findings" {
			return err
		}
		script, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range otherFile.FindAllStringSubmatch(string(script), -1) {
			named++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), found[1])); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if named == 0 {
		t.Error("no script names another file")
	}
}
