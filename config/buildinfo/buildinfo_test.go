package buildinfo

import (
	"encoding/json"
	"github.com/portico-commerce/portico/config/testenv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

const pseudo = "v1.2.1-0.20260102030405-0123456789ab"

// TestDescribe checks the info for each way to build.
func TestDescribe(t *testing.T) {
	of := func(version string) debug.Module { return debug.Module{Path: module, Version: version} }
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}
	replaced := of("v1.2.0")
	replaced.Replace = &debug.Module{Path: "../portico"}
	released := of("v1.1.0")
	other := debug.Module{Path: "shop.example/portico", Version: "v9.0.0"}
	for _, tt := range []struct {
		name   string
		build  debug.BuildInfo
		linked string
		want   Info
	}{
		{"nothing recorded", debug.BuildInfo{}, "", Info{Version: "dev"}},
		{"sources without a repository", debug.BuildInfo{Main: of("(devel)")}, "", Info{Version: "dev"}},
		{"version of the linker", debug.BuildInfo{Main: of("(devel)")}, "v1.2.0-4-g0123", Info{Version: "v1.2.0-4-g0123"}},
		{"go install of a tag", debug.BuildInfo{Main: of("v1.2.0")}, "", Info{Version: "v1.2.0"}},
		{"go install of a commit", debug.BuildInfo{Main: of(pseudo)}, "", Info{Version: pseudo, Commit: "0123456789ab", Date: "2026-01-02T03:04:05Z"}},
		{"go install of a commit before the first tag", debug.BuildInfo{Main: of("v0.0.0-20260102030405-0123456789ab")}, "", Info{Version: "v0.0.0-20260102030405-0123456789ab", Commit: "0123456789ab", Date: "2026-01-02T03:04:05Z"}},
		{"not a date", debug.BuildInfo{Main: of("v0.0.0-20269902030405-0123456789ab")}, "", Info{Version: "v0.0.0-20269902030405-0123456789ab"}},
		{"clone with changes", debug.BuildInfo{Main: of(pseudo + "+dirty"), Settings: vcs}, "", Info{Version: pseudo + "+dirty", Commit: "0123456789abcdef", Date: "2026-01-02T03:04:05Z", Dirty: true}},
		{"part of another program", debug.BuildInfo{Main: other, Deps: []*debug.Module{&released}, Settings: vcs}, "", Info{Version: "v1.1.0"}},
		{"part of another program, from a folder", debug.BuildInfo{Main: other, Deps: []*debug.Module{&replaced}, Settings: vcs}, "", Info{Version: "dev"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Go, tt.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
			if got := describe(&tt.build, tt.linked); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestWrite checks the text for people, and that JSON has the same.
func TestWrite(t *testing.T) {
	whole := Info{"v1.2.0", "0123", "2026-01-02T03:04:05Z", true, "go1.26.8", "linux/arm64"}
	for _, tt := range []struct {
		name string
		info Info
		want string
	}{
		{"whole", whole, "portico v1.2.0\n  commit    0123, with uncommitted changes\n  date      2026-01-02T03:04:05Z\n  go        go1.26.8\n  platform  linux/arm64\n"},
		{"without a commit", Info{Version: "dev", Go: "go1.26.8", Platform: "linux/arm64"}, "portico dev\n  go        go1.26.8\n  platform  linux/arm64\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text, asJSON strings.Builder
			if err := tt.info.Write(&text, "portico", false); err != nil || text.String() != tt.want {
				t.Errorf("got %v, %q, want %q", err, text.String(), tt.want)
			}
			var again Info
			if err := tt.info.Write(&asJSON, "portico", true); err != nil || json.Unmarshal([]byte(asJSON.String()), &again) != nil || again != tt.info {
				t.Errorf("got %v, %s", err, asJSON.String())
			}
		})
	}
}

// TestBuilds builds a program from this package in a repository, and reads its output.
func TestBuilds(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "git")
	folder := t.TempDir()
	run := func(name string, arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, arguments...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOFLAGS=-buildvcs=true", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, arguments, err, output)
		}
		return strings.TrimSpace(string(output))
	}
	source, err := os.ReadFile("buildinfo.go")
	if err != nil {
		t.Fatal(err)
	}
	program := `package main

import (
	"os"

	"` + module + `/config/buildinfo"
)

func main() { _ = buildinfo.Read().Write(os.Stdout, "x", true) }
`
	for name, content := range map[string]string{
		"go.mod": "module " + module + "\n\ngo 1.26\n", "main.go": program, ".gitignore": "/x\n", "config/buildinfo/buildinfo.go": string(source),
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(message string) string {
		run("git", "add", ".")
		run("git", "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", message)
		return run("git", "rev-parse", "HEAD")
	}
	built := func(flags ...string) (i Info) {
		t.Helper()
		run("go", append(append([]string{"build", "-buildvcs=true", "-o", "x"}, flags...), ".")...)
		if err := json.Unmarshal([]byte(run(filepath.Join(folder, "x"))), &i); err != nil {
			t.Fatal(err)
		}
		return i
	}
	check := func(when string, got Info, version, commit string, dirty bool) {
		t.Helper()
		if !strings.HasPrefix(got.Version, version) || got.Commit != commit || got.Dirty != dirty || (got.Date == "") != (commit == "") {
			t.Errorf("%s: got %+v, want version %s, commit %q, dirty %t", when, got, version, commit, dirty)
		}
	}

	run("git", "init", "-q")
	first := commit("first")
	run("git", "tag", "v1.2.0")
	check("at a tag", built(), "v1.2.0", first, false)
	second := commit("second")
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(program+"// changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("changed after a tag", built(), "v1.2.1-0.2", second, true)
	check("version of the linker", built("-buildvcs=false", "-ldflags", "-X "+module+"/config/buildinfo.version=v9"), "v9", "", false)
}
