package contract_test

import (
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

func TestReplaceBase(t *testing.T) {
	for _, tt := range []struct{ name, text, base, want string }{
		{"text", "a http://h/b", "http://h", "a BASE/b"},
		{"slash at the end of the base", "http://h/b", "http://h/", "BASE/b"},
		{"JSON", `"http:\/\/h:80\/b"`, "http://h:80", `"BASE\/b"`},
		{"form", "u=http%3A%2F%2Fh%3A80%2Fb", "http://h:80", "u=BASE%2Fb"},
		{"more than one", "http://h http://h", "http://h", "BASE BASE"},
		{"another port", "http://h:8080/", "http://h:80", "http://h:8080/"},
		{"a port", "http://h:80/", "http://h", "http://h:80/"},
		{"another host", "http://h.example/ http://h", "http://h", "http://h.example/ BASE"},
		{"at the end", "http://h", "http://h", "BASE"},
		{"no base", "http://h", "", "http://h"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(contract.ReplaceBase([]byte(tt.text), tt.base, "BASE")); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
