package testenv_test

import (
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// A recordedTB is a testing.TB that records how the test ends.
type recordedTB struct {
	testing.TB
	outcome string
}

func (e *recordedTB) Helper() {}

func (e *recordedTB) Fatalf(format string, args ...any) { e.end("fatal: "+format, args) }

func (e *recordedTB) Skipf(format string, args ...any) { e.end("skip: "+format, args) }

func (e *recordedTB) end(format string, args []any) {
	e.outcome = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestNeed checks how the test ends with and without the program, in CI and elsewhere.
func TestNeed(t *testing.T) {
	for _, tt := range []struct {
		name, ci, program string
		want              string // how the test ends
		found             bool
	}{
		{"installed", "", "go", "", true},
		{"installed in CI", "true", "go", "", true},
		{"missing", "", "no-such-program", "skip: no-such-program is not installed, so this is not tested", false},
		{"missing in CI", "true", "no-such-program", "fatal: no-such-program is not installed", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CI", tt.ci)
			e, path, done := &recordedTB{TB: t}, "", make(chan struct{})
			go func() {
				defer close(done)
				path = testenv.Need(e, tt.program)
			}()
			<-done
			if e.outcome != tt.want {
				t.Errorf("the test ends with %q, want %q", e.outcome, tt.want)
			}
			if filepath.IsAbs(path) != tt.found {
				t.Errorf("the path is %q", path)
			}
		})
	}
}

// TestStart checks that a program that does not exit by itself is killed at the end of
// its test.
func TestStart(t *testing.T) {
	var ended <-chan struct{}
	t.Run("test", func(t *testing.T) {
		ended = testenv.StartProgram(t, exec.Command(testenv.Self(t, sleeper)))
		select {
		case <-ended:
			t.Error("the program has exited by itself")
		default:
		}
	})
	select {
	case <-ended:
	default:
		t.Error("the program still runs")
	}
}

// sleeper is a program for TestStart that does not exit by itself.
const sleeper = "sleeper"

func TestMain(m *testing.M) {
	testenv.Main(m, map[string]func(){
		sleeper: func() { time.Sleep(time.Minute) }, // far longer than its test
	})
}
