package testenv

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

const (
	// heapPercent is how much the memory of tests grows before garbage is collected. They allocate much and
	// keep little, so that at the default the collector takes a fifth of their time. Without a collector the
	// system takes as long to provide new memory.
	heapPercent = 400
	// testsPerCore is how many tests run at once, as they wait for servers half of their time.
	testsPerCore = 3
)

// Main is called by TestMain and does not return. It runs the tests, unless the binary was started
// under the name of a program in mains ([Self]): then it runs that program. Unless TMPDIR is set, tests store temporary files in [MemoryFolder].
func Main(m *testing.M, mains map[string]func()) {
	if main, ok := mains[filepath.Base(os.Args[0])]; ok {
		main()
		os.Exit(0)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapPercent)
	}
	if err := runMoreTests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if folder := MemoryFolder(); folder != "" && os.Getenv("TMPDIR") == "" {
		if err := os.Setenv("TMPDIR", folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// runMoreTests runs more tests at once than there are cores, unless -parallel sets the number. With
// -short, which the race detector uses, tests wait for the processor, so that more tests at once
// would gain nothing.
func runMoreTests() error {
	const name = "test.parallel"
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given || testing.Short() {
		return nil
	}
	return flag.Set(name, strconv.Itoa(testsPerCore*runtime.GOMAXPROCS(0)))
}

// Self returns a path at which the test binary is the program of a name, in a folder of
// the test. TestMain must call [Main].
func Self(tb testing.TB, name string) (path string) {
	tb.Helper()
	binary, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	path = filepath.Join(tb.TempDir(), name)
	if err := os.Symlink(binary, path); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Need returns the path of an installed program. If the program is not installed, Need
// skips the test, or fails it if the environment variable CI is "true".
func Need(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("%s is not installed", name)
		}
		tb.Skipf("%s is not installed, so this is not tested", name)
	}
	return path
}

// StartProgram starts a program. The returned channel is closed when the program has exited. If
// it still runs at the end of the test, it is killed.
func StartProgram(tb testing.TB, cmd *exec.Cmd) (ended <-chan struct{}) {
	tb.Helper()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // cmd.ProcessState has the exit code
		close(done)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if the program has exited already
		<-done
	})
	return done
}
