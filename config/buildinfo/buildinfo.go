// Package buildinfo reports the version, commit and date of the running build.
//
// # Principles
//
//  1. The go command records version, commit and date of a build: after "go build" in a clone,
//     after "go install …@version", and in a release. Nothing has to be passed to the linker.
//  2. A build from sources without a repository, as in a container, has nothing to record. It
//     passes its version with
//     -ldflags "-X github.com/portico-commerce/portico/config/buildinfo.version=VERSION".
//  3. Facts that a build did not record are left out, not guessed. Go records nothing in a
//     linked worktree of Git, with -buildvcs=false, or in a test.
//
// # How it is tested
//
// Table tests have the records of each way to build. One test builds a program in a
// repository of its own: at a tag, with changes after it, and without the repository.
package buildinfo

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
	"time"
)

const module = "github.com/portico-commerce/portico"

// version is set by the linker when the sources are built without their repository.
var version string

// Info describes a build of Portico.
type Info struct {
	// Version is a tag such as "v1.2.0", the pseudo-version of a commit without a tag,
	// or "dev".
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"` // "" if the build did not record it
	Date    string `json:"date,omitempty"`   // when Commit was made, in UTC as in RFC 3339; "" if the build did not record it
	// Dirty is true if the sources had changes that were not committed.
	Dirty    bool   `json:"dirty"`
	Go       string `json:"go"`       // version of Go that built the program
	Platform string `json:"platform"` // such as "linux/amd64"
}

// Read returns the build information that the running program has recorded. In a program of
// another module that is made of Portico's packages, it describes the version of Portico that
// the program contains.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return describe(build, version)
}

// UserAgent returns the header User-Agent of requests that a program sends by itself.
func UserAgent(program string) string { return program + "/" + Read().Version }

// describe returns the info of a build. linked is the version that was passed to the linker, "" for none.
func describe(build *debug.BuildInfo, linked string) Info {
	i := Info{Version: "dev", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	portico := &build.Main
	for _, d := range build.Deps {
		if d.Path == module {
			portico = d
		}
	}
	// Sources in a folder, instead of a published version, have the version "(devel)" or none.
	if v := portico.Version; portico.Path == module && portico.Replace == nil && v != "" && v != "(devel)" {
		i.Version = v
		i.Commit, i.Date = fromPseudoVersion(v)
	}
	if build.Main.Path == module { // or the repository is another one
		i.addRepository(build.Settings)
	}
	if linked != "" {
		i.Version = linked
	}
	return i
}

// addRepository adds the recorded facts about the repository of the main module.
func (i *Info) addRepository(settings []debug.BuildSetting) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.time":
			i.Date = s.Value
		case "vcs.modified":
			i.Dirty = s.Value == "true"
		}
	}
}

var pseudoVersion = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(\+[0-9A-Za-z.-]+)?\z`)

// fromPseudoVersion returns the beginning of the commit that a pseudo-version names, and
// its date. Both are "" for other versions.
func fromPseudoVersion(v string) (commit, date string) {
	parts := pseudoVersion.FindStringSubmatch(v)
	if parts == nil {
		return "", ""
	}
	at, err := time.Parse("20060102150405", parts[1])
	if err != nil {
		return "", ""
	}
	return parts[2], at.Format(time.RFC3339)
}

// Write prints the info as text that begins with the name of the program, or as JSON.
func (i Info) Write(w io.Writer, program string, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(i)
	}
	fmt.Fprintln(w, program, i.Version)
	commit := i.Commit
	if i.Dirty {
		commit += ", with uncommitted changes"
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{{"commit", commit}, {"date", i.Date}, {"go", i.Go}, {"platform", i.Platform}} {
		if row[1] != "" {
			fmt.Fprintf(table, "  %s\t%s\n", row[0], row[1])
		}
	}
	return table.Flush()
}
