package sqlstore

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// sealedMark begins every sealed secret and names the way it is sealed.
const sealedMark = "v1:"

var (
	errSealed    = errors.New("the stored secret is sealed and no secret key is configured")
	errWrongKey  = errors.New("the configured secret key does not open the stored secret")
	errPlainMark = errors.New(`a secret must not begin with "` + sealedMark + `"`)
)

// A vault seals secrets with AES-256-GCM. The zero vault leaves them plain.
type vault struct{ aead cipher.AEAD }

// newVault returns the vault of a configured key, of any length; "" for none.
func newVault(secretKey string) (vault, error) {
	if secretKey == "" {
		return vault{}, nil
	}
	key, err := hkdf.Key(sha256.New, []byte(secretKey), nil, "portico sqlstore credentials v1", 32)
	if err != nil {
		return vault{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return vault{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return vault{aead: aead}, err
}

// seal returns the form of secret to store. owner names the row it belongs to,
// and must be given to open it: a secret copied to another row does not open.
func (v vault) seal(secret, owner string) (string, error) {
	if v.aead == nil {
		if strings.HasPrefix(secret, sealedMark) {
			return "", errPlainMark
		}
		return secret, nil
	}
	return sealedMark + base64.RawStdEncoding.EncodeToString(v.aead.Seal(nil, nil, []byte(secret), []byte(owner))), nil
}

// open returns the secret of a stored form; one without the mark is plain.
func (v vault) open(stored, owner string) (string, error) {
	sealed, marked := strings.CutPrefix(stored, sealedMark)
	switch {
	case !marked:
		return stored, nil
	case v.aead == nil:
		return "", errSealed
	}
	text, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errWrongKey
	}
	secret, err := v.aead.Open(nil, nil, text, []byte(owner))
	if err != nil {
		return "", errWrongKey
	}
	return string(secret), nil
}

// takes reports whether secret may be stored. An empty one may not: anyone could sign
// with it.
func (v vault) takes(secret string) bool {
	return secret != "" && storable(secret, 0) && (v.aead != nil || !strings.HasPrefix(secret, sealedMark))
}

// isSealed reports whether a stored form is not the plain secret.
func isSealed(stored string) bool { return strings.HasPrefix(stored, sealedMark) }

// newSecret returns 32 random hexadecimal digits, the form of every key, token
// and secret (OAuth on API calls, checks 4 and 11).
func newSecret() string {
	const digits = "0123456789abcdef"
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	for i, c := range b {
		b[i] = digits[c&15]
	}
	return string(b[:])
}
