package program

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestClientTLSFaults checks the errors for files from which no certificate can be read.
func TestClientTLSFaults(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for _, tt := range []struct{ name, ca, cert, key, want string }{
		{"missing", missing, "", "", "read the trusted certificates"},
		{"without a certificate", "clienttls.go", "", "", "clienttls.go contains no PEM certificate"},
		{"no key", "", "clienttls.go", "", "load the client certificate and its key"},
		{"no certificate for a key", "", "", "clienttls.go", "load the client certificate and its key"},
		{"none", "", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ClientTLS(tt.ca, tt.cert, tt.key)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
