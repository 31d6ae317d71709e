package adapter

import (
	"crypto/sha256"
	"encoding/base64"

	"golang.org/x/crypto/bcrypt"
)

// PasswordCost is the bcrypt cost of passwords that are secret.
const PasswordCost = 10

// longestPassword is what bcrypt takes, in bytes.
const longestPassword = 72

// HashPassword returns the bcrypt hash of a password of any length, at the cost
// given. It fails for a cost that bcrypt does not know.
func HashPassword(password string, cost int) (string, error) {
	hash, err := bcrypt.GenerateFromPassword(passwordBytes(password), cost)
	return string(hash), err
}

// PasswordMatches reports whether hash is that of a password.
func PasswordMatches(hash, password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(hash), passwordBytes(password)) == nil
}

// passwordBytes returns what is hashed: the password, or the digest of one that
// bcrypt would not take whole.
func passwordBytes(password string) []byte {
	if len(password) <= longestPassword {
		return []byte(password)
	}
	digest := sha256.Sum256([]byte(password))
	return []byte(base64.RawStdEncoding.EncodeToString(digest[:]))
}
