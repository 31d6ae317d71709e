package apptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/contracttests"
)

// WriteFile writes a text to a file that only its owner may read.
func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// NewFile writes a text to a file with a name in a new folder, and returns its path.
func NewFile(t testing.TB, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	WriteFile(t, path, text)
	return path
}

// ReadFile returns the text of a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// OpenRecords opens a store until the end of the test. Without a media folder in the options it has
// an empty one.
func OpenRecords(t testing.TB, o sqlstore.Options) *sqlstore.DB {
	t.Helper()
	if o.MediaDir == "" {
		o.MediaDir = t.TempDir()
	}
	db, err := sqlstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Suite returns the contract suite.
func Suite(t testing.TB) *contracttests.Suite {
	t.Helper()
	suite, err := contracttests.NewSuite()
	if err != nil {
		t.Fatal(err)
	}
	return suite
}

// Credentials returns the credentials of the demo store.
func Credentials(t testing.TB) contracttests.Credentials {
	t.Helper()
	credentials, err := contracttests.DemoCredentials()
	if err != nil {
		t.Fatal(err)
	}
	return credentials
}

// Exchanges returns the recorded exchanges of the demo shop.
func Exchanges(t testing.TB) []contracttests.Exchange {
	t.Helper()
	exchanges, err := contracttests.Exchanges()
	if err != nil {
		t.Fatal(err)
	}
	return exchanges
}

// CredentialsBefore writes a file with the credentials of the demo store that come before a
// caller's, and returns its path.
func CredentialsBefore(t testing.TB, caller string) (path string) {
	t.Helper()
	text, _, _ := strings.Cut(string(contracttests.DemoCredentialsFile()), caller+":\n")
	return NewFile(t, "credentials.yaml", text)
}
