package auth

import (
	"context"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Keys finds API keys. Errors other than those of kind NotFound mean that the store
// cannot tell.
type Keys interface {
	// Key returns the key of a hash that [adapter.HashAPIKey] has made. Kinds:
	// NotFound.
	Key(ctx context.Context, hash string) (adapter.APIKey, error)
}

// longestKey bounds what is taken for a key, in bytes.
const longestKey = 256

// cutBearer returns what follows the Bearer scheme in an Authorization value, or
// false for another scheme.
func cutBearer(authorization string) (key string, ok bool) {
	const scheme = "bearer"
	if len(authorization) < len(scheme) || !strings.EqualFold(authorization[:len(scheme)], scheme) {
		return "", false
	}
	key = authorization[len(scheme):]
	if key != "" && key[0] != ' ' {
		return "", false
	}
	return strings.Trim(key, " "), true
}

// bearer returns whom a key acts for. What is compared are hashes, so that no time
// tells how much of a key is right.
func (a *Authenticator) bearer(ctx context.Context, text string) (Principal, error) {
	if text == "" || len(text) > longestKey {
		return Principal{}, problem("token_rejected")
	}
	key, known, err := a.cache.Load().keys.get(ctx, adapter.HashAPIKey(text))
	switch {
	case err != nil:
		return Principal{}, err
	case !known:
		return Principal{}, problem("token_rejected")
	case key.Revoked:
		return Principal{}, problem("token_revoked")
	case key.Kind == adapter.CustomerKey && key.CustomerID != 0:
		return Principal{Role: contract.Customer, CustomerID: key.CustomerID, KeyID: key.ID}, nil
	case key.Kind == adapter.AdminKey && key.CustomerID == 0:
		return Principal{Role: contract.Admin, AdminID: key.AdminID, KeyID: key.ID}, nil
	default:
		return Principal{}, internalProblem("User type is unknown")
	}
}
