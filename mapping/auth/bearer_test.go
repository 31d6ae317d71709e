package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// memoryKeys is an in-memory store of API keys that counts lookups.
type memoryKeys struct {
	keys  map[string]adapter.APIKey
	asked int
	fail  error
}

func (m *memoryKeys) Key(_ context.Context, hash string) (adapter.APIKey, error) {
	m.asked++
	key, ok := m.keys[hash]
	switch {
	case m.fail != nil:
		return key, m.fail
	case !ok:
		return key, &adapter.Error{Kind: adapter.NotFound, Op: "find key"}
	}
	return key, nil
}

func newKeys() *memoryKeys {
	keys := &memoryKeys{keys: map[string]adapter.APIKey{}}
	for text, key := range map[string]adapter.APIKey{
		"for-an-admin": {ID: 1, Kind: adapter.AdminKey}, "For-A-Customer": {ID: 2, Kind: adapter.CustomerKey, CustomerID: 12},
		"revoked": {ID: 3, Kind: adapter.AdminKey, Revoked: true}, "of-an-admin": {ID: 4, Kind: adapter.AdminKey, AdminID: 11},
		"no-kind": {ID: 5}, "no-customer": {ID: 6, Kind: adapter.CustomerKey}, "both": {ID: 7, Kind: adapter.AdminKey, CustomerID: 12},
	} {
		keys.keys[adapter.HashAPIKey(text)] = key
	}
	return keys
}

func TestBearer(t *testing.T) {
	tests := []struct {
		name, authorization string
		want                Principal
		problem             string
	}{
		{"administrator", "Bearer for-an-admin", Principal{Role: contract.Admin, KeyID: 1}, ""},
		{"customer", "Bearer For-A-Customer", Principal{Role: contract.Customer, CustomerID: 12, KeyID: 2}, ""},
		{"administrator's own", "Bearer of-an-admin", Principal{Role: contract.Admin, AdminID: 11, KeyID: 4}, ""},
		{"no kind", "Bearer no-kind", Principal{}, "internal_error&message=User type is unknown"},
		{"no customer", "Bearer no-customer", Principal{}, "internal_error&message=User type is unknown"},
		{"administrator and customer", "Bearer both", Principal{}, "internal_error&message=User type is unknown"},
		{"spelling of the scheme, and blanks", "bEARER   for-an-admin  ", Principal{Role: contract.Admin, KeyID: 1}, ""},
		{"letter case counts", "Bearer for-a-customer", Principal{}, "token_rejected"},
		{"revoked", "Bearer revoked", Principal{}, "token_revoked"},
		{"unknown", "Bearer nobody", Principal{}, "token_rejected"},
		{"none", "Bearer", Principal{}, "token_rejected"},
		{"hash", "Bearer " + adapter.HashAPIKey("for-an-admin"), Principal{}, "token_rejected"},
		{"too long", "Bearer " + strings.Repeat("a", 300), Principal{}, "token_rejected"},
		{"odd bytes", "Bearer \xff\x00", Principal{}, "token_rejected"},
		{"another scheme", "Bearers for-an-admin", Principal{Role: contract.Guest}, ""},
		{"Basic", "Basic for-an-admin", Principal{Role: contract.Guest}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, _, _ := newAuthenticator(Options{Keys: newKeys()})
			got, err := a.Authenticate(t.Context(), get("/", tt.authorization))
			if problemOf(t, err) != tt.problem || got != tt.want {
				t.Errorf("%+v, %v; want %+v, %q", got, err, tt.want, tt.problem)
			}
			a, _, _ = newAuthenticator(Options{})
			if got, err := a.Authenticate(t.Context(), get("/", tt.authorization)); err != nil || got.Role != contract.Guest {
				t.Errorf("without keys: %+v, %v, want a Guest", got, err)
			}
		})
	}
}

// TestBearerIsCached: keys are cached as long as tokens, failures are not cached.
func TestBearerIsCached(t *testing.T) {
	now := time.Unix(serverTime, 0)
	keys := newKeys()
	a, _, _ := newAuthenticator(Options{Keys: keys, Now: func() time.Time { return now }})
	call := func() error {
		_, err := a.Authenticate(t.Context(), get("/", "Bearer for-an-admin"))
		return err
	}
	keys.fail = errors.New("down")
	var refused *Problem
	if err := call(); err == nil || errors.As(err, &refused) {
		t.Errorf("the store is down: %v", err)
	}
	keys.fail = nil
	for range 3 {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	if keys.asked != 2 {
		t.Errorf("asked %d times, want 2", keys.asked)
	}
	keys.keys[adapter.HashAPIKey("for-an-admin")] = adapter.APIKey{ID: 1, Revoked: true}
	now = now.Add(3 * time.Second)
	if got := problemOf(t, call()); got != "token_revoked" {
		t.Errorf("revoked: %q", got)
	}
}

func TestClient(t *testing.T) {
	for want, p := range map[int64]Principal{0: {}, 7: {ConsumerID: 7}, -7: {KeyID: 7}} {
		if got := p.Client(); got != want {
			t.Errorf("%+v: %d, want %d", p, got, want)
		}
	}
}
