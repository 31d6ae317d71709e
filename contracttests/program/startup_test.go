package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestFoundSettings checks that commands read portico.yaml in the working folder unless a file is named.
func TestFoundSettings(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	apptest.WriteFile(t, filepath.Join(folder, "portico.yaml"), "log: {level: warn}\n")
	named := apptest.NewFile(t, "other.yaml", "log: {level: error}\n")
	for _, tt := range []struct{ name, file, folder, want string }{
		{"in the folder", "", folder, "portico.yaml:1"},
		{"named", named, folder, "other.yaml:1"},
		{"nowhere", "", t.TempDir(), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), apptest.Program(t), "config", "--changed")
			cmd.Dir, cmd.Env = tt.folder, append(apptest.WithoutSettings(os.Environ()), "PORTICO_CONFIG="+tt.file)
			printed, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(printed), "log.level") != (tt.want != "") || !strings.Contains(string(printed), tt.want) {
				t.Errorf("%v, want settings of %q:\n%s", err, tt.want, printed)
			}
		})
	}
}
