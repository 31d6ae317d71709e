package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"strings"
	"testing"
)

// TestHelpShowsOwnFlags checks that the help of a command shows only the flags of the
// settings that it uses, and that the command accepts the others.
func TestHelpShowsOwnFlags(t *testing.T) {
	flags := []string{"--listen", "--public-url", "--dialect", "--adapter", "--ops-listen", "--log-level", "--log-format", "--legacy-url"}
	for command, shown := range map[string]string{
		"serve": strings.Join(flags, " "), "routes": "--dialect --adapter", "ready": "--ops-listen", "seed": "--adapter --log-level --log-format",
		"credentials add-key": "", "report": "", "ids check": "--adapter --log-level --log-format",
	} {
		help := apptest.MustRun(t, append(strings.Fields(command), "--help")...)
		for _, flag := range flags {
			if got, want := strings.Contains(help, "   "+flag+" "), strings.Contains(" "+shown+" ", " "+flag+" "); got != want {
				t.Errorf("the help of %s shows %s: %t, want %t", command, flag, got, want)
			}
		}
	}
	apptest.MustRun(t, "routes", "--log-level", "debug")
	if got := apptest.MustRun(t, "__complete", "serve", "--dialect", ""); !strings.Contains(got, "documented\nmagento\n") {
		t.Errorf("--dialect completes to %q", got)
	}
}

// TestKeyWithoutBearer checks that creating a key prints a warning if auth.bearer is off.
func TestKeyWithoutBearer(t *testing.T) {
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	for value, want := range map[string]bool{"false": true, "true": false} {
		_, warned, err := commands.With("PORTICO_AUTH_BEARER="+value).Run(t, "credentials", "add-key", "--name", "x", "--admin")
		if err != nil || strings.Contains(warned, "auth.bearer is off") != want {
			t.Errorf("auth.bearer %s: warns %q (%v)", value, warned, err)
		}
	}
}
