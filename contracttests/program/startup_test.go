package program

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
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

// TestBackendRefusesLogin checks that "portico serve" does not start in front of a backend that refuses it, and
// names the settings, but starts while the backend is away.
func TestBackendRefusesLogin(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refusing.Close()
	commands = commands.With("PORTICO_ADAPTER=rest", "PORTICO_REST_MAPPING="+apptest.NewFile(t, "people.yaml", apptest.PeopleMapping))
	p := apptest.Launch(t, commands.With("PORTICO_REST_URL="+refusing.URL), "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	if code := p.Wait(t); code != 1 || !strings.Contains(p.Stderr.Text(), "403") || !strings.Contains(p.Stderr.Text(), "rest.secret") {
		t.Errorf("exit code %d:\n%s", code, p.Stderr.Text())
	}
	apptest.Start(t, commands.With("PORTICO_REST_URL=http://"+testenv.FreeAddress(t))).Stop(t)
}
