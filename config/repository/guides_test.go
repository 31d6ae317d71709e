package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"go.yaml.in/yaml/v3"
)

// A guide is a page of documentation whose commands TestGuides runs.
//
// Its fenced blocks are of these kinds:
//
//	sh       commands, which must succeed
//	yaml     a file that the first line names. If the file exists, the block replaces its
//	         top-level keys. Files called portico*.yaml hold settings.
//	text     output of the commands before it: each line must be printed in this order,
//	         and … stands for anything
//	console  commands that no test can run; notRun has the reasons
//	sql      statements for another server
//	go       Go source, which must be well formed; a file if the first line is a comment
//	         with its name
//	mermaid  a picture
type guide struct {
	path       string // below the root of the repository
	callsSuite bool   // calls contracttest
	// prepare starts the servers that the guide expects, and returns pairs of a text in
	// the guide and its replacement in the test.
	prepare func(t *testing.T, folder string) (replacements []string)
}

// notRun returns the reason for each kind of command in console blocks.
func notRun() map[string]string {
	return map[string]string{
		"docker ":       "needs a Docker daemon, and fetches images",
		"go install ":   "fetches a published version",
		"go test ./":    "runs this test",
		"portico erase": "needs a customer; TestEraseCommand of package app erases one",
		"PORTICO_SQL":   "needs an empty database; TestBackupCommands and TestTrialRestore of package app restore",
		"helm ":         "needs Helm and a cluster; TestChart runs what needs no cluster",
		"kubectl ":      "needs a cluster",
		"bash .ci/":     "runs this test",
		"go build ":     "needs a clone of the repository",
		"sha256sum ":    "needs a release: \".ci/nightly packages\" makes one and tries it",
		"tar ":          "needs a release",
		"promtool ":     "needs the files of the repository; TestPromtool and TestRules run it",
		"curl -i ":      "needs the proxy; TestRollingRestartBehindNginx of package program calls it",
		"curl -s ":      "needs Prometheus; TestDashboardsLive starts one with these files",
		"sudo ":         "changes the system: \".ci/nightly packages\" does it in one of its own",
	}
}

// TestGuides runs the commands of the README and of one in four guides, at night of all, in order, in one shell
// and a temporary folder, and compares their output with the guide.
func TestGuides(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "curl", "openssl"} {
		testenv.Need(t, name)
	}
	suite := sync.OnceValue(func() (folder string) {
		folder = t.TempDir()
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", folder, "../../cmd/contracttest")
		if output, err := build.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
		return folder
	})
	all := guides()
	for _, g := range append(all[:1:1], testenv.Rows(t, all[1:], 4)...) {
		t.Run(g.path, func(t *testing.T) {
			t.Parallel()
			path := filepath.Dir(apptest.Program(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")
			if g.callsSuite {
				path = suite() + string(filepath.ListSeparator) + path
			}
			g.run(t, path, testenv.Patience(t))
		})
	}
}

// run runs the guide. path has the folders of the programs. Commands that take longer than
// timeout are killed.
func (g *guide) run(t *testing.T, path string, timeout time.Duration) {
	t.Helper()
	blocks, err := blocksOf(apptest.ReadFile(t, filepath.Join("..", "..", g.path)))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	contract, ops := testenv.FreeAddress(t), testenv.FreeAddress(t)
	servers := strings.NewReplacer()
	if g.prepare != nil {
		servers = strings.NewReplacer(g.prepare(t, folder)...)
	}
	addresses := strings.NewReplacer("/path/to/portico", root, "127.0.0.1:8080", contract, "127.0.0.1:9464", ops, "127.0.0.1:8081", testenv.FreeAddress(t), "127.0.0.1:9465", testenv.FreeAddress(t))
	for i := range blocks {
		blocks[i].text = addresses.Replace(servers.Replace(blocks[i].text))
	}
	script, err := scriptOf(blocks, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var output bytes.Buffer
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.Dir = folder
	shell.Env = append(apptest.WithoutSettings(os.Environ()), apptest.FastPasswordHashing, "PORTICO_LISTEN="+contract, "PORTICO_OPS_LISTEN="+ops,
		// The whole suite takes too long for this test.
		"CONTRACTTEST_RUN=^(categories|recorded/calls)/.*/json$",
		"REPOSITORY="+root, "PATH="+path, "TMPDIR="+t.TempDir(), "SERVERS="+t.TempDir())
	shell.Stdout, shell.Stderr = &output, &output
	// All processes that the shell has started end with it.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	err = shell.Run()
	printed := printedBy(output.String())
	last := -1
	for i, b := range blocks {
		if _, ran := printed[i]; ran {
			last = i
		}
		if line, ok := shows(printed[last], b.text); b.language == "text" && !ok && err == nil {
			t.Errorf("%s:%d: the commands before do not print\n%s\nbut\n%s", g.path, b.line, line, printed[last])
		}
	}
	if err != nil {
		t.Fatalf("%s:%d: %v\n%s", g.path, blocks[max(last, 0)].line, errors.Join(err, ctx.Err()), printed[last])
	}
}

// A block is a fenced block of a guide.
type block struct {
	language string
	line     int // where it begins
	text     string
}

// blocksOf returns the fenced blocks of a page.
func blocksOf(page string) (blocks []block, err error) {
	const fence = "```"
	inside := false
	number := 0
	for line := range strings.Lines(page) {
		number++
		language, isFence := strings.CutPrefix(line, fence)
		switch language = strings.TrimSpace(language); {
		case !isFence && strings.HasPrefix(strings.TrimSpace(line), fence):
			return nil, fmt.Errorf("line %d: an indented block", number)
		case !isFence && inside:
			blocks[len(blocks)-1].text += line
		case !isFence:
		case inside && language != "":
			return nil, fmt.Errorf("line %d: a block in a block", number)
		case inside:
			inside = false
		default:
			inside = true
			blocks = append(blocks, block{language: language, line: number})
		}
	}
	if inside {
		return nil, fmt.Errorf("line %d: a block without an end", blocks[len(blocks)-1].line)
	}
	return blocks, nil
}

// prelude makes "portico serve" run in the background, replacing an earlier server with
// the same address, and "go run" run the built programs. A module of the guide shares a workspace
// with Portico, whose packages are compiled already. Programs are linked without tables for debuggers.
const prelude = `
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
portico() {
  local program; program=$(type -P "${OWN:-portico}")
  if [ "${1:-}" != serve ]; then "$program" "$@"; return; fi
  local ops=$PORTICO_OPS_LISTEN argument before=
  for argument in "$@"; do
    if [ "$before" = --ops-listen ]; then ops=$argument; fi
    before=$argument
  done
  if [ -e "$SERVERS/$ops" ]; then
    kill "$(cat "$SERVERS/$ops")"
    wait "$(cat "$SERVERS/$ops")"
  fi
  "$program" "$@" >"$SERVERS/$ops.log" 2>&1 &
  echo $! >"$SERVERS/$ops"
  until curl -fso /dev/null "http://$ops/healthz"; do
    if ! kill -0 $!; then cat "$SERVERS/$ops.log"; return 1; fi
    sleep 0.05
  done
  cat "$SERVERS/$ops.log"
}
go() {
  case "$1 $2" in
  'run ./cmd/'*) "${2#./cmd/}" "${@:3}" ;;
  'mod '*) GOSUMDB=off command go "$@" ;;
  'run .')
    workspace build -ldflags=-w -o "$SERVERS/own" .
    OWN=$SERVERS/own portico "${@:3}" ;;
  'test '*) workspace test -vet=off "${@:2}" ;;
  *) workspace "$@" ;;
  esac
}
workspace() {
  printf 'go %s\nuse (\n%s\n.\n)\n' "$(command go env GOVERSION | tr -d a-z)" "$REPOSITORY" >go.work
  command go "$@"
}
`

// marker separates the output of the blocks. The number of the block follows it.
const marker = "\x01"

// scriptOf returns the blocks as a shell script. It writes the files of yaml blocks to
// folder, from which the script copies them.
func scriptOf(blocks []block, folder string) (string, error) {
	script := strings.Builder{}
	script.WriteString(prelude)
	files := map[string]map[string]any{}
	for i, b := range blocks {
		switch b.language {
		case "sh":
			fmt.Fprintf(&script, "printf '\\001%d\\n'\n%s\n", i, b.text)
		case "yaml", "go":
			name, content, err := fileOf(b.text, files)
			if b.language == "go" {
				first, _, _ := strings.Cut(b.text, "\n")
				name, content, err = strings.TrimPrefix(first, "// "), []byte(b.text), nil
				if !strings.HasSuffix(first, ".go") {
					continue
				}
			}
			if err != nil {
				return "", fmt.Errorf("line %d: %w", b.line, err)
			}
			path := filepath.Join(folder, strconv.Itoa(i))
			if err := os.WriteFile(path, content, 0o600); err != nil {
				return "", err
			}
			fmt.Fprintf(&script, "printf '\\001%d\\n'\nmkdir -p '%s'\ncp '%s' '%s'\n", i, filepath.Dir(name), path, name)
			if strings.HasPrefix(name, "portico") {
				fmt.Fprintf(&script, "portico config --config '%s' >/dev/null\n", name)
			}
		}
	}
	return script.String(), nil
}

// fileOf returns the name and the content of the file that a yaml block describes. files
// has the files of the blocks before.
func fileOf(text string, files map[string]map[string]any) (name string, content []byte, err error) {
	first, _, _ := strings.Cut(text, "\n")
	name, named := strings.CutPrefix(first, "# ")
	if !named || strings.ContainsAny(name, " '") {
		return "", nil, errors.New("the first line does not name the file, as # portico.yaml")
	}
	var document any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return "", nil, err
	}
	keys, _ := document.(map[string]any) // nil for a list
	if files[name] == nil || keys == nil {
		files[name] = keys
		return name, []byte(text), nil
	}
	maps.Copy(files[name], keys)
	content, err = yaml.Marshal(files[name])
	return name, content, err
}

// printedBy splits the output of a script by the number of the block.
func printedBy(output string) map[int]string {
	printed := map[int]string{}
	for _, part := range strings.Split(output, marker)[1:] {
		number, text, _ := strings.Cut(part, "\n")
		if i, err := strconv.Atoi(number); err == nil {
			printed[i] = text
		}
	}
	return printed
}

// shows reports whether the lines of want are printed in their order, whatever the widths
// of columns; … stands for anything. If not, it returns the first missing line.
func shows(printed, want string) (missing string, ok bool) {
	printed = strings.Join(strings.Fields(printed), " ")
	for line := range strings.Lines(want) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.Join(strings.Fields(line), " ")), "…", ".*?")
		at := regexp.MustCompile(pattern).FindStringIndex(printed)
		if at == nil {
			return line, false
		}
		printed = printed[at[1]:]
	}
	return "", true
}

// TestGuideBlocks checks that TestGuides knows the kind of every block, and that every
// command it does not run has a reason.
func TestGuideBlocks(t *testing.T) {
	reasons := notRun()
	used := map[string]bool{}
	for _, g := range allGuides() {
		blocks, err := blocksOf(apptest.ReadFile(t, filepath.Join("..", "..", g.path)))
		if err != nil {
			t.Errorf("%s: %v", g.path, err)
		}
		for _, b := range blocks {
			switch b.language {
			case "sh", "yaml", "text", "sql", "haproxy", "mermaid":
			case "console":
				if !explained(b.text, reasons, used) {
					t.Errorf("%s:%d: nothing says why these commands do not run", g.path, b.line)
				}
			case "go": // its examples are compiled where they live
				source := b.text
				if !strings.Contains("\n"+source, "\npackage ") {
					source = "package guide\n" + source
				}
				if _, err := parser.ParseFile(token.NewFileSet(), "", source, 0); err != nil {
					t.Errorf("%s:%d: %v", g.path, b.line, err)
				}
			default:
				t.Errorf("%s:%d: a block of %q", g.path, b.line, b.language)
			}
		}
	}
	for command := range reasons {
		if !used[command] {
			t.Errorf("no guide has commands that begin with %q", command)
		}
	}
}

// explained reports whether every command of a console block, except exports, has a
// reason, and adds the reasons to used.
func explained(text string, reasons map[string]string, used map[string]bool) bool {
	for line := range strings.Lines(text) {
		found := strings.HasPrefix(line, "export ") || strings.HasPrefix(line, "  ") // which goes on with the line before
		for command := range reasons {
			if strings.HasPrefix(line, command) {
				used[command], found = true, true
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// TestBlocksOf checks how pages are split into blocks.
func TestBlocksOf(t *testing.T) {
	for _, tt := range []struct{ name, page, want, problem string }{
		{"none", "a\n", "", ""},
		{"two", "a\n```sh\nb\nc\n```\nd\n```yaml\n# e\n```\n", `[{sh 2 b` + "\nc\n} {yaml 7 # e\n}]", ""},
		{"indented", "- a\n  ```sh\n", "", "line 2: an indented block"},
		{"nested", "```sh\n```yaml\n", "", "line 2: a block in a block"},
		{"no end", "```sh\na\n", "", "line 1: a block without an end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			blocks, err := blocksOf(tt.page)
			if (err == nil) != (tt.problem == "") || err != nil && err.Error() != tt.problem {
				t.Fatalf("%v, want %q", err, tt.problem)
			}
			if got := fmt.Sprint(blocks); err == nil && got != tt.want && (tt.want != "" || len(blocks) > 0) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestShows checks how output is compared with a guide.
func TestShows(t *testing.T) {
	const printed = "CALL     REQUESTS\ngetX     3\nlistX    41\n"
	for want, missing := range map[string]string{
		"getX 3\n": "", "CALL REQUESTS\nlistX  …\n": "", "getX 4\n": "getX 4\n", "listX …\ngetX 3\n": "getX 3\n", "get. 3\n": "get. 3\n",
	} {
		if got, ok := shows(printed, want); got != missing || ok != (missing == "") {
			t.Errorf("%q: got %q, want %q", want, got, missing)
		}
	}
}

// TestGuideLinks checks that links of the guides to files and headings in this repository
// are valid.
func TestGuideLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := []string{"cmd/portico/CHANGELOG.md", "cmd/portico/SCALE.md"}
	for _, g := range allGuides() {
		pages = append(pages, g.path)
	}
	links := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages {
		found := links.FindAllStringSubmatch(apptest.ReadFile(t, filepath.Join(root, page)), -1)
		for _, link := range found {
			target, heading, _ := strings.Cut(link[1], "#")
			if strings.HasPrefix(target, "https://") {
				continue
			}
			path := filepath.Join(root, filepath.Dir(page), target)
			if target == "" {
				path = filepath.Join(root, page)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if heading != "" && !anchors(apptest.ReadFile(t, path))[heading] {
				t.Errorf("%s: %s has no heading #%s", page, path, heading)
			}
		}
		if len(found) == 0 {
			t.Errorf("%s has no links: they are not where this test looks for them", page)
		}
	}
}
