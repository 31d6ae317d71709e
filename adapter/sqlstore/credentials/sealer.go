package credentials

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"strings"
)

// sealedPrefix begins every sealed secret and names the version of the format.
const sealedPrefix = "v1:"

var (
	errSealed       = errors.New("the stored secret is encrypted and no secret key is configured")
	errWrongKey     = errors.New("the configured secret key does not decrypt the stored secret")
	errSealedPrefix = errors.New(`a secret must not begin with "` + sealedPrefix + `"`)
)

// A sealer encrypts secrets with AES-256-GCM. The zero sealer leaves them unchanged.
type sealer struct{ aead cipher.AEAD }

// newSealer returns a sealer for a configured key of any length; "" means no
// encryption.
func newSealer(secretKey string) (sealer, error) {
	if secretKey == "" {
		return sealer{}, nil
	}
	key, err := hkdf.Key(sha256.New, []byte(secretKey), nil, "portico sqlstore credentials v1", 32)
	if err != nil {
		return sealer{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead: aead}, err
}

// seal returns the form in which a secret is stored. owner names the row that the
// secret belongs to; open needs the same owner, so a secret copied to another row does
// not open.
func (v sealer) seal(secret, owner string) (string, error) {
	if v.aead == nil {
		if strings.HasPrefix(secret, sealedPrefix) {
			return "", errSealedPrefix
		}
		return secret, nil
	}
	return sealedPrefix + base64.RawStdEncoding.EncodeToString(v.aead.Seal(nil, nil, []byte(secret), []byte(owner))), nil
}

// open returns the secret of a stored form. A stored form without the prefix is the
// secret itself.
func (v sealer) open(stored, owner string) (string, error) {
	sealed, marked := strings.CutPrefix(stored, sealedPrefix)
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

// canStore reports whether a secret may be stored. An empty one may not, since anyone
// could sign with it.
func (v sealer) canStore(secret string) bool {
	return secret != "" && engine.Storable(secret, 0) && (v.aead != nil || !strings.HasPrefix(secret, sealedPrefix))
}

// isSealed reports whether a stored form is encrypted.
func isSealed(stored string) bool { return strings.HasPrefix(stored, sealedPrefix) }

// newSecret returns 32 random hexadecimal digits, the form of all generated keys,
// tokens and secrets (OAuth on API calls, checks 4 and 11).
func newSecret() string {
	const digits = "0123456789abcdef"
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	for i, c := range b {
		b[i] = digits[c&15]
	}
	return string(b[:])
}
