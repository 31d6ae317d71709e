package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/portico-commerce/portico/contracttests"
)

// maxFile bounds a file that a flag names, in bytes.
const maxFile = 4 << 20

// environment begins the names of variables that stand for flags.
const environment = "CONTRACTTEST_"

// variable returns the name of the variable that stands for a flag.
func variable(flag string) string {
	return environment + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flags that were not given and whose variables are not
// empty.
func fromEnvironment(flags *pflag.FlagSet, look func(string) string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		value := look(variable(f.Name))
		if f.Changed || value == "" || f.Name == "help" || f.Name == "version" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %q is no value of --%s", variable(f.Name), value, f.Name))
		}
	})
	return errors.Join(errs...)
}

// targetOptions are the flags that say what is called, and how.
type targetOptions struct {
	url, dialect, credentials, fixtures, reset, ca string
	insecure                                       bool
	timeout                                        time.Duration
}

func (o *targetOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.url, "url", "", "where the implementation is, `http(s)://host[:port][/path]`: what stands before /api/rest")
	flags.StringVar(&o.dialect, "dialect", string(contracttests.Documented), "the `DIALECT` it speaks: documented or magento")
	flags.StringVar(&o.credentials, "credentials", "", "`FILE` in YAML or JSON with what it knows the callers by, - for standard input (default: the demo store's)")
	flags.StringVar(&o.reset, "reset", "", "what puts the store back, before the run and at its end: a URL gets a POST, all else is a command (`CMD|URL`)")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "`TIME` that one call may take")
	flags.StringVar(&o.ca, "ca", "", "PEM `FILE` with the certificate authorities that are trusted")
	flags.BoolVar(&o.insecure, "insecure", false, "trust any certificate")
}

// errNoURL tells those who have just met the program what to do.
var errNoURL = errors.New(`no --url: say where the implementation is, for example
  contracttest --url http://127.0.0.1:8080
A demo store needs no more. For another one write credentials and fixtures first:
  contracttest credentials > credentials.yaml
  contracttest fixtures > fixtures.yaml
  contracttest --url https://store.example --credentials credentials.yaml --fixtures fixtures.yaml
"contracttest --help" has the rest, "contracttest list" what is tested`)

// target returns what the flags describe, and whether its store is the demo's.
func (o *targetOptions) target(cmd *cobra.Command) (t contracttests.Target, demo bool, err error) {
	if o.url == "" {
		return t, false, errNoURL
	}
	t.BaseURL, t.Dialect, t.Timeout = o.url, contracttests.Dialect(o.dialect), o.timeout
	if t.Dialect != contracttests.Documented && t.Dialect != contracttests.Magento {
		return t, false, fmt.Errorf("--dialect is %s or %s, not %q", contracttests.Documented, contracttests.Magento, o.dialect)
	}
	if o.timeout <= 0 {
		return t, false, fmt.Errorf("--timeout has to be longer than %v", o.timeout)
	}
	if t.TLS, err = contracttests.Trust(o.ca, o.insecure); err != nil {
		return t, false, err
	}
	if demo, err = o.store(cmd, &t); err != nil {
		return t, false, err
	}
	if o.reset != "" {
		t.Reset = newReset(o.reset, os.Getenv(environment+"RESET_TOKEN"), t.TLS)
	}
	return t, demo, nil
}

// store reads credentials and fixtures into t, and reports whether the fixtures are
// the demo store's. Without a file they are only if the credentials are: the cases
// would change what has the same ids in another store.
func (o *targetOptions) store(cmd *cobra.Command, t *contracttests.Target) (demo bool, err error) {
	known, err := contracttests.DemoCredentials()
	if err != nil {
		return false, err
	}
	fixtures, err := contracttests.DemoFixtures()
	if err != nil {
		return false, err
	}
	t.Credentials = known
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
	case t.Credentials.Equal(known):
		t.Fixtures = fixtures
	}
	return reflect.DeepEqual(t.Fixtures, fixtures), nil
}

// readFile returns the content of a file that a flag names. "-" is the standard input
// of cmd.
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
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return data, nil
}
