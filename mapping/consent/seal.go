package consent

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// maxSealedBytes is the maximum size of a sealed text in bytes: the size of a session with a
// user name of longestName bytes, each of which JSON may write as six. Browsers keep cookies
// of 4 KiB.
const maxSealedBytes = 3 << 10

// A sealer encrypts and authenticates data that clients store for the server.
type sealer struct{ aead cipher.AEAD }

// newSealer returns a sealer with a key derived from secret. Without a secret the key is
// random, so that no other process can open its seals.
func newSealer(secret []byte) (*sealer, error) {
	if len(secret) == 0 {
		secret = make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "portico consent v1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead}, nil
}

// seal returns v, sealed for a purpose, as letters, digits, "-" and "_".
func (s *sealer) seal(purpose string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(purpose))), nil
}

// open decodes into v a text that was sealed for the same purpose, and reports whether that
// succeeded.
func (s *sealer) open(purpose, sealed string, v any) bool {
	if len(sealed) > maxSealedBytes {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(text) < s.aead.Overhead() {
		return false
	}
	if text, err = s.aead.Open(nil, nil, text, []byte(purpose)); err != nil {
		return false
	}
	return json.Unmarshal(text, v) == nil
}
