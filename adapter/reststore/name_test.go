package reststore

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/rules"
)

// FuzzFileName checks that every path of a URL makes a name that the store accepts.
func FuzzFileName(f *testing.F) {
	for _, address := range []string{"/a/kettle.png", "", "/", "..", "/.png", "/%2e%2e/x", "/ä.jpeg"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if name := name(address, "jpeg"); !rules.ValidFileName(name) || !strings.HasSuffix(name, ".jpg") {
			t.Errorf("%q makes %q", address, name)
		}
	})
}
