//go:build linux

package testenv

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestGroupEnds checks that a group ends the processes that its servers have left behind, and
// removes its folder.
func TestGroupEnds(t *testing.T) {
	t.Parallel()
	sh := Need(t, "sh")
	var dir string
	var left int
	t.Run("group", func(t *testing.T) {
		g := NewServerGroup(t, "nobody")
		dir = g.Dir
		g.MakeDir("data")
		s := g.Start("parent", sh, "-c", "sleep 600 & echo $! > data/postmaster.pid; wait")
		Await(t, "the child", func() bool {
			written, _ := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
			left, _ = strconv.Atoi(strings.TrimSpace(string(written)))
			return left > 0
		})
		s.Kill()
		if !runs(left) {
			t.Fatal("the child has ended with its parent")
		}
	})
	if runs(left) {
		t.Error("a process is left behind")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left behind: %v", err)
	}
}

// runs reports whether a process exists and has not exited.
func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}
