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

// longestSealed bounds a sealed text that is opened, in bytes.
const longestSealed = 1 << 10

// A sealer seals what clients keep for us, so that they can neither read nor change
// it.
type sealer struct{ aead cipher.AEAD }

// newSealer returns the sealer of a secret, or one whose seals nobody else opens when
// there is none.
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

// seal returns v sealed for a purpose, as letters, digits, "-" and "_".
func (s *sealer) seal(purpose string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(purpose))), nil
}

// open reads into v what was sealed for a purpose, and reports whether it was.
func (s *sealer) open(purpose, sealed string, v any) bool {
	if len(sealed) > longestSealed {
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
