package apptest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/testenv"
)

// An Environment runs commands, and adds variables, as "NAME=value", to the environment of the
// process. If two have the same name, the last one counts. A server can be started with it, too.
type Environment []string

// With returns an environment with more variables.
func (e Environment) With(variables ...string) Environment { return slices.Concat(e, variables) }

// Get returns the value of a variable that the environment adds, or "".
func (e Environment) Get(name string) (value string) {
	for _, entry := range e {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			value = text
		}
	}
	return value
}

// run runs a command within this process (app.Run). Main sets it.
var run func(ctx context.Context, cmd *exec.Cmd) (exitCode int)

// An ExitError is the failure of a command.
type ExitError struct {
	Code    int
	Message string // the command's output about it
}

// Error returns the message.
func (e *ExitError) Error() string { return e.Message }

// ExitCode returns the exit code of a command that ended with err: 0 if err is nil, and -1 if the
// command did not exit normally.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return -1
}

// Run runs a command in the process of the test. It cancels commands that do not end. An error of the
// command is an [ExitError], whose message is not part of stderr. "portico serve" runs in a process of its own.
func (e Environment) Run(t testing.TB, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	return e.RunWith(t, nil, testenv.Patience(t), arguments...)
}

// RunWith is Run with in as standard input, for commands that may take longer.
func (e Environment) RunWith(t testing.TB, in io.Reader, timeout time.Duration, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	if len(arguments) > 0 && arguments[0] == "serve" { // which sets the memory limit of its process
		return e.RunProcess(t, arguments...)
	}
	if run == nil {
		t.Fatal("TestMain must call apptest.Main")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer time.AfterFunc(timeout, cancel).Stop() // as SIGTERM does
	var out, messages bytes.Buffer
	code := run(ctx, &exec.Cmd{Args: append([]string{programName}, arguments...), Env: slices.Concat(os.Environ(), e), Stdin: in, Stdout: &out, Stderr: &messages})
	return outcome(code, out.String(), messages.String())
}

// RunProcess is Run in a process of its own, for tests of commands that run at the same time.
func (e Environment) RunProcess(t testing.TB, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience(t))
	defer cancel()
	cmd := exec.CommandContext(ctx, Program(t), arguments...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = WaitTimeout
	cmd.Env = slices.Concat(os.Environ(), e)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return "", "", err
	}
	return outcome(cmd.ProcessState.ExitCode(), out.String(), messages.String())
}

// outcome returns the results of Run for a command that has ended.
func outcome(code int, stdout, messages string) (string, string, error) {
	if code == 0 {
		return stdout, messages, nil
	}
	stderr, message := messages, ""
	if begin := strings.LastIndex("\n"+messages, "\n"+errorPrefix); begin >= 0 {
		stderr, message = messages[:begin], strings.TrimSuffix(messages[begin+len(errorPrefix):], "\n")
	}
	return stdout, stderr, &ExitError{code, message}
}

// errorPrefix begins the message of a failing command, which is its last output.
const errorPrefix = programName + ": "

// MustRun runs a command that must succeed, and returns its standard output.
func (e Environment) MustRun(t testing.TB, arguments ...string) string {
	t.Helper()
	stdout, stderr, err := e.Run(t, arguments...)
	if err != nil {
		t.Fatalf("portico %s: %v\n%s", strings.Join(arguments, " "), err, stderr)
	}
	return stdout
}

// Run runs a command in the environment of the process.
func Run(t testing.TB, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	return Environment{}.Run(t, arguments...)
}

// MustRun is [Environment.MustRun] in the environment of the process.
func MustRun(t testing.TB, arguments ...string) string {
	t.Helper()
	return Environment{}.MustRun(t, arguments...)
}

// SweepArguments returns the arguments of a sweep without pauses and rate limit.
func SweepArguments(legacy, candidate string, more ...string) []string {
	return append([]string{"--legacy", legacy, "--candidate", candidate, "--sweep", "--rate", "0", "--parallel", "8", "--pause", "0s"}, more...)
}
