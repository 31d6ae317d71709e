package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Root returns the root folder of the repository that holds the working folder.
func Root(tb testing.TB) string {
	tb.Helper()
	folder, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		if parent := filepath.Dir(folder); parent != folder {
			folder = parent
			continue
		}
		break
	}
	tb.Fatal("the working folder is in no module")
	return ""
}
