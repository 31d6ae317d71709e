package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxFileSize limits the size of a file that a flag names, in bytes.
const maxFileSize = 4 << 20

// envPrefix is the prefix of environment variables that set flags.
const envPrefix = "CONTRACTTEST_"

// envName returns the name of the environment variable that sets a flag.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setFromEnvironment sets the flags that are not on the command line from their
// environment variables. getenv is os.Getenv or a substitute; empty variables are
// ignored.
func setFromEnvironment(flags *pflag.FlagSet, getenv func(string) string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		value := getenv(envName(f.Name))
		if f.Changed || value == "" || f.Name == "help" || f.Name == "version" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %q is not a valid value of --%s", envName(f.Name), value, f.Name))
		}
	})
	return errors.Join(errs...)
}

// targetOptions are the flags that describe the implementation and how to call it.
type targetOptions struct {
	url, dialect, integers, credentials, fixtures, reset, ca string

	insecure bool
	timeout  time.Duration
}

// addFlags defines the flags of the target except --fixtures, which "contracttest record"
// does not have.
func (o *targetOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.url, "url", "", "base `URL` of the implementation, [http(s)://]host[:port][/path]; without a scheme, http for local and private hosts, otherwise https")
	flags.StringVar(&o.dialect, "dialect", string(contracttests.Documented), "`DIALECT` of the implementation: documented, magento or openmage")
	flags.StringVar(&o.integers, "integers", "text", "`FORM` of integers in JSON: text, or number as in legacy stores whose database layer does not turn values into texts")
	o.addCredentialsFlag(flags)
	flags.StringVar(&o.reset, "reset", "", "restore the data of the store before and after the run: with a shell command or a POST to a URL (`CMD|URL`)")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "`TIME` limit for one request")
	flags.StringVar(&o.ca, "ca", "", "PEM `FILE` with the certificate authorities to trust")
	flags.BoolVar(&o.insecure, "insecure", false, "trust any certificate")
}

// addCredentialsFlag defines the flag --credentials.
func (o *targetOptions) addCredentialsFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.credentials, "credentials", "", "`FILE` in YAML or JSON with the credentials of the callers, - for standard input (default: those of the demo store)")
}

// errNoURL contains instructions for new users.
var errNoURL = errors.New(`--url is not set: give the base URL of the implementation, for example
  contracttest --url http://127.0.0.1:8080
A demo store needs no other flags. For another store write credentials and fixtures first:
  contracttest credentials > credentials.yaml
  contracttest fixtures > fixtures.yaml
  contracttest --url https://store.example --credentials credentials.yaml --fixtures fixtures.yaml
"contracttest --help" describes all flags, "contracttest list" prints the cases`)

// target returns the target that the flags describe, and whether its store is the demo
// store.
func (o *targetOptions) target(cmd *cobra.Command) (t contracttests.Target, demo bool, err error) {
	if o.url == "" {
		return t, false, errNoURL
	}
	if t.BaseURL, err = contracttests.ParseBaseURL(o.url); err != nil {
		return t, false, fmt.Errorf("--url: %w", err)
	}
	t.Dialect, t.Timeout = contracttests.Dialect(o.dialect), o.timeout
	if err := t.Dialect.Check(); err != nil {
		return t, false, fmt.Errorf("--dialect: %w", err)
	}
	t.NumericIntegers = o.integers == "number"
	switch {
	case o.integers != "text" && !t.NumericIntegers:
		return t, false, fmt.Errorf("--integers must be text or number, not %q", o.integers)
	case t.NumericIntegers && t.Dialect == contracttests.Documented:
		return t, false, fmt.Errorf("--integers number needs another --dialect: in %s integers are texts", contracttests.Documented)
	}
	if o.timeout <= 0 {
		return t, false, fmt.Errorf("--timeout must be greater than %v", o.timeout)
	}
	if t.TLS, err = contracttests.Trust(o.ca, o.insecure); err != nil {
		return t, false, err
	}
	if demo, err = o.loadStore(cmd, &t); err != nil {
		return t, false, err
	}
	if o.reset != "" {
		t.Reset = newResetFunc(o.reset, os.Getenv(envPrefix+"RESET_TOKEN"), t.TLS)
	}
	return t, demo, nil
}

// loadStore reads credentials and fixtures into t, and reports whether the fixtures belong to the
// demo store. Without --fixtures, the fixtures of the demo store are used only together with its
// credentials: in another store the cases would change other objects that have the same ids.
func (o *targetOptions) loadStore(cmd *cobra.Command, t *contracttests.Target) (demo bool, err error) {
	demoCredentials, err := contracttests.DemoCredentials()
	if err != nil {
		return false, err
	}
	demoFixtures, err := contracttests.DemoFixtures()
	if err != nil {
		return false, err
	}
	t.Credentials = demoCredentials
	if o.credentials != "" {
		data, err := readFile(cmd, o.credentials)
		if err != nil {
			return false, err
		}
		if t.Credentials, err = contracttests.ParseCredentials(data); err != nil {
			return false, fmt.Errorf("%s: %w", o.credentials, err)
		}
	}
	switch {
	case o.fixtures != "":
		data, err := readFile(cmd, o.fixtures)
		if err != nil {
			return false, err
		}
		if t.Fixtures, err = contracttests.ParseFixtures(data); err != nil {
			return false, fmt.Errorf("%s: %w", o.fixtures, err)
		}
	case t.Credentials.Equal(demoCredentials):
		t.Fixtures = demoFixtures
	}
	return reflect.DeepEqual(t.Fixtures, demoFixtures), nil
}

// readFile returns the content of a file that a flag names, or standard input if the name
// is "-".
func readFile(cmd *cobra.Command, name string) ([]byte, error) {
	var in io.Reader
	if name == "-" {
		in = cmd.InOrStdin()
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxFileSize)
	}
	return data, nil
}
