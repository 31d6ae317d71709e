package main

import (
	"slices"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/spf13/pflag"
)

// repeatedFlags are the flags that affect the run of a case, and so belong to the command that
// repeats it.
var repeatedFlags = []string{"url", "dialect", "credentials", "fixtures", "reset", "exchanges", "timeout", "ca", "insecure"}

// runCommandLine returns the shell command that repeats a run with these flags, without the
// selection of cases and the reports. It contains no secrets.
func runCommandLine(flags *pflag.FlagSet, baseURL string) string {
	return commandLine("contracttest", flags, baseURL, repeatedFlags)
}

// signCommandLine returns the shell command that signs requests with the credentials of a
// run, for [contracttests.Target].
func signCommandLine(flags *pflag.FlagSet) string {
	return commandLine("contracttest sign", flags, "", []string{"credentials"})
}

// commandLine returns a command with the named flags that are set.
func commandLine(command string, flags *pflag.FlagSet, baseURL string, names []string) string {
	var b strings.Builder
	b.WriteString(command)
	for _, name := range names {
		f := flags.Lookup(name)
		if f == nil || !f.Changed || f.Value.String() == "" {
			continue
		}
		b.WriteString(" --" + name)
		switch value := f.Value.String(); {
		case name == "url":
			b.WriteString(" " + contracttests.QuoteShell(baseURL))
		case f.Value.Type() == "bool":
			if value != "true" {
				b.WriteString("=" + value)
			}
		case value == "-", name == "reset" && !slices.Contains([]string{"http", "https"}, schemeOf(value)):
			// Standard input can be read once, and a shell command may contain a password.
			b.WriteString(` "${` + envName(name) + `:?}"`)
		default:
			b.WriteString(" " + contracttests.QuoteShell(value))
		}
	}
	return b.String()
}

// schemeOf returns the scheme of a URL without user information, or "".
func schemeOf(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || strings.ContainsAny(rest, "@? ") {
		return ""
	}
	return scheme
}
