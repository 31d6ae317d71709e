package auth

import (
	"context"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Keys looks up API keys. An error of any kind but NotFound means that the store failed.
type Keys interface {
	// Key returns the key with a hash computed by [adapter.HashAPIKey]. Kinds: NotFound.
	Key(ctx context.Context, hash string) (adapter.APIKey, error)
}

// maxKeyLength is the maximum length of an API key in bytes.
const maxKeyLength = 256

// cutBearer returns the part of an Authorization header after the Bearer scheme. It returns
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

// bearer returns the principal of an API key. The store compares hashes, so that response
// times do not reveal how much of a key is correct.
func (a *Authenticator) bearer(ctx context.Context, text string) (Principal, error) {
	if text == "" || len(text) > maxKeyLength {
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
