//go:build linux

package testenv

import (
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A ServerGroup is a folder, and the servers that run in it.
type ServerGroup struct {
	// Dir is the folder. The output of a server is in the file NAME.log there.
	Dir        string
	tb         testing.TB
	attributes *syscall.SysProcAttr
}

// NewServerGroup returns a group without servers. It ends with the test. If the tests run as root, the servers
// run as the first of users that exists.
func NewServerGroup(tb testing.TB, users ...string) *ServerGroup {
	tb.Helper()
	dir, err := os.MkdirTemp(MemoryFolder(), "portico-servers-")
	if err != nil {
		tb.Fatal(err)
	}
	g := &ServerGroup{Dir: dir, tb: tb, attributes: &syscall.SysProcAttr{Setpgid: true}}
	g.MakeDir("pids")
	tb.Cleanup(func() {
		if tb.Failed() {
			g.logEnds()
		}
	})
	g.watch()
	if os.Geteuid() == 0 {
		g.becomeOneOf(users)
	}
	return g
}

// becomeOneOf runs the servers as the first user who exists.
func (g *ServerGroup) becomeOneOf(users []string) {
	g.tb.Helper()
	for _, name := range users {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			g.tb.Fatal(err)
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			g.tb.Fatal(err)
		}
		g.attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		g.own(g.Dir)
		return
	}
	g.tb.Fatalf("the servers cannot run as root, and none of the users %v exists", users)
}

// own makes the user of the servers the owner of a file.
func (g *ServerGroup) own(path string) {
	g.tb.Helper()
	if c := g.attributes.Credential; c != nil {
		if err := os.Chown(path, int(c.Uid), int(c.Gid)); err != nil {
			g.tb.Fatal(err)
		}
	}
}

// watchdogScript ends all processes of the folder $1 and removes it when standard input is closed.
// Files of process ids have the id in their first line.
const watchdogScript = `
read -r end
for round in 1 2; do
  for file in "$1"/pids/* "$1"/*/postmaster.pid; do
    [ -f "$file" ] || continue
    pid=$(head -n 1 "$file")
    for child in $(cat /proc/$pid/task/$pid/children 2>/dev/null); do kill -s KILL $child; done
    kill -s KILL $pid
  done
  sleep 0.2
done 2>/dev/null
rm -rf "$1"
`

// watch starts the watchdog, whose end is the last thing of the test.
func (g *ServerGroup) watch() {
	g.tb.Helper()
	watchdog := exec.Command("sh", "-c", watchdogScript, "sh", g.Dir)
	watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := watchdog.StdinPipe()
	if err == nil {
		err = watchdog.Start()
	}
	if err != nil {
		g.tb.Fatal(err)
	}
	g.tb.Cleanup(func() {
		_ = stdin.Close()
		_ = watchdog.Wait() // the folder is gone, or not: nothing depends on it
	})
}

// logEnds logs the ends of the servers' output.
func (g *ServerGroup) logEnds() {
	files, _ := filepath.Glob(filepath.Join(g.Dir, "*.log")) // the pattern is well formed
	for _, file := range files {
		written, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		const most = 4000
		g.tb.Logf("%s:\n%s", filepath.Base(file), written[max(0, len(written)-most):])
	}
}

// MakeDir creates a folder of the group and returns its path.
func (g *ServerGroup) MakeDir(name string) (path string) {
	g.tb.Helper()
	path = filepath.Join(g.Dir, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		g.tb.Fatal(err)
	}
	g.own(path)
	return path
}

// Write writes a file of the group and returns its path.
func (g *ServerGroup) Write(name, content string) (path string) {
	g.tb.Helper()
	path = filepath.Join(g.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		g.tb.Fatal(err)
	}
	g.own(path)
	return path
}

// Address returns an address of [FreeAddress].
func (g *ServerGroup) Address() string {
	g.tb.Helper()
	return FreeAddress(g.tb)
}

// A Server is a running program of a group.
type Server struct {
	group *ServerGroup
	Cmd   *exec.Cmd
	Ended chan struct{} // closed when it has exited
}

// Start starts a program. Its name, by which its log and the file of its process id are called,
// must be unique among the running servers.
func (g *ServerGroup) Start(name, path string, arguments ...string) *Server {
	g.tb.Helper()
	log, err := os.OpenFile(filepath.Join(g.Dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		g.tb.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	s := &Server{group: g, Cmd: exec.Command(path, arguments...), Ended: make(chan struct{})}
	s.Cmd.Dir, s.Cmd.SysProcAttr = g.Dir, g.attributes
	s.Cmd.Env = append(os.Environ(), "HOME="+g.Dir)
	s.Cmd.Stdout, s.Cmd.Stderr = io.Writer(log), log
	if err := s.Cmd.Start(); err != nil {
		g.tb.Fatal(err)
	}
	go func() {
		_ = s.Cmd.Wait() // the log says why
		close(s.Ended)
	}()
	g.Write(filepath.Join("pids", name), strconv.Itoa(s.Cmd.Process.Pid)+"\n")
	return s
}

// Kill kills the server, as kill -9 does, and returns when it has ended.
func (s *Server) Kill() {
	_ = s.Cmd.Process.Kill() // it may have ended
	<-s.Ended
}

// AwaitPort waits until something listens on an address, and fails the test if the server ends
// before.
func (s *Server) AwaitPort(address string) {
	s.group.tb.Helper()
	Await(s.group.tb, "a server on "+address, func() bool {
		select {
		case <-s.Ended:
			s.group.tb.Fatalf("%s exited during its start", filepath.Base(s.Cmd.Path))
		default:
		}
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}
