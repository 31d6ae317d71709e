package programs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests/programs"
)

// An ended is a test that keeps how it was ended.
type ended struct {
	testing.TB
	how string
}

func (e *ended) Helper() {}

func (e *ended) Fatalf(format string, args ...any) { e.end("fatal: "+format, args) }

func (e *ended) Skipf(format string, args ...any) { e.end("skip: "+format, args) }

func (e *ended) end(format string, args []any) {
	e.how = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestNeed(t *testing.T) {
	for _, tt := range []struct {
		name, ci, program string
		want              string // how the test ends
		found             bool
	}{
		{"installed", "", "go", "", true},
		{"installed in CI", "true", "go", "", true},
		{"missing", "", "no-such-program", "skip: no-such-program is not installed, so what it would do is not tested", false},
		{"missing in CI", "true", "no-such-program", "fatal: no-such-program is not installed", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CI", tt.ci)
			e, path, done := &ended{TB: t}, "", make(chan struct{})
			go func() {
				defer close(done)
				path = programs.Need(e, tt.program)
			}()
			<-done
			if e.how != tt.want {
				t.Errorf("the test ends with %q, want %q", e.how, tt.want)
			}
			if filepath.IsAbs(path) != tt.found {
				t.Errorf("the path is %q", path)
			}
		})
	}
}

// TestStart: a program that does not end by itself ends with its test.
func TestStart(t *testing.T) {
	var ended <-chan struct{}
	t.Run("test", func(t *testing.T) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMain$")
		cmd.Env = append(os.Environ(), waits+"=1")
		ended = programs.Start(t, cmd)
		select {
		case <-ended:
			t.Error("it has ended by itself")
		default:
		}
	})
	select {
	case <-ended:
	default:
		t.Error("it still runs")
	}
}

// waits is set for the program that this test binary is when it waits.
const waits = "PROGRAMS_TEST_WAITS"

func TestMain(m *testing.M) {
	if os.Getenv(waits) != "" {
		time.Sleep(time.Minute) // far longer than its test
	}
	os.Exit(m.Run())
}
