package adapter_test

import (
	"github.com/portico-commerce/portico/adapter"
	"testing"
)

func TestErrorKindNames(t *testing.T) {
	for kind := adapter.Internal; kind <= adapter.Unavailable; kind++ {
		got := adapter.ErrorKind(99)
		if err := got.UnmarshalText([]byte(kind.String())); err != nil || got != kind {
			t.Errorf("%s is read as %s (%v)", kind, got, err)
		}
	}
	kind := adapter.Conflict
	err := kind.UnmarshalText([]byte("gone"))
	const want = "must be internal, not_found, conflict, invalid, unsupported or unavailable"
	if err == nil || err.Error() != want || kind != adapter.Conflict {
		t.Errorf("an unknown name: %v, and the kind is %s; want %s", err, kind, want)
	}
	if got := adapter.ErrorKind(99).String(); got != "internal" {
		t.Errorf("an unknown kind is named %s", got)
	}
}
