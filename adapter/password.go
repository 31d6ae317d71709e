package adapter

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

const (
	// bcryptMaxBytes is the longest password that bcrypt accepts, in bytes.
	bcryptMaxBytes = 72
	// maxHashBytes bounds a stored hash, in bytes: SHA-512 in hexadecimal and a salt.
	maxHashBytes = 255
	// maxBcryptCost bounds the cost of an imported hash. Each step doubles the time of a
	// login, which takes about two seconds at this cost.
	maxBcryptCost = 15
	// dummyHash is the format of bcrypt hashes, by cost, for which no password is known.
	dummyHash = "$2a$%02d$HElkg6R6FjSd3Be1rrdb2.3t1oPupxR5Mb9GVCCSXx95ckFKmxKPi"
)

// HashPassword returns the bcrypt hash of a password of any length, at the given cost or,
// for 0, at bcrypt.DefaultCost. It fails for a cost that bcrypt does not support.
func HashPassword(password string, cost int) (string, error) {
	hash, err := bcrypt.GenerateFromPassword(bcryptInput(password), cost)
	return string(hash), err
}

// PasswordMatches reports whether hash is the hash of a password, as made by HashPassword.
func PasswordMatches(hash, password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(hash), bcryptInput(password)) == nil
}

// VerifyPassword reports whether hash is a hash of a password, and whether it should be
// replaced by one of HashPassword. It supports the forms used by Portico and by legacy
// stores:
//
//   - bcrypt, from HashPassword or any other program; other programs cut a password after
//     72 bytes. A cost above 15 is refused, as it would block the server;
//   - MD5, SHA-256 or SHA-512, in hexadecimal, of the salt followed by the password, then
//     ":" and the salt;
//   - the same without ":" and salt, of the password alone.
//
// No password matches a hash of another form, "" included. The duration of a call reveals
// the form of the hash: use a [PasswordChecker] to answer untrusted clients.
func VerifyPassword(hash, password string) (ok, upgrade bool) {
	return verifyPasswordWith(hash, password, bcrypt.CompareHashAndPassword)
}

// verifyPasswordWith is VerifyPassword with a given bcrypt comparison.
func verifyPasswordWith(hash, password string, compare func(hash, password []byte) error) (ok, upgrade bool) {
	switch {
	case !isBcrypt(hash):
		ok := verifyDigest(hash, password)
		return ok, ok
	case !KnownPasswordHash(hash):
		return false, false
	case compare([]byte(hash), bcryptInput(password)) == nil:
		return true, false
	case comparisonCount(password) == 1:
		return false, false
	}
	cut := compare([]byte(hash), []byte(password[:bcryptMaxBytes])) == nil
	return cut, cut
}

func isBcrypt(hash string) bool { return strings.HasPrefix(hash, "$2") }

// comparisonCount returns how many bcrypt comparisons a password needs. One that is too
// long for bcrypt may have been digested first, or cut.
func comparisonCount(password string) int {
	if len(password) <= bcryptMaxBytes {
		return 1
	}
	return 2
}

// KnownPasswordHash reports whether hash has one of the forms that VerifyPassword supports.
func KnownPasswordHash(hash string) bool {
	if isBcrypt(hash) {
		cost, err := bcrypt.Cost([]byte(hash))
		return err == nil && cost <= maxBcryptCost
	}
	_, _, ok := splitDigest(hash)
	return ok
}

// splitDigest returns the digest and the salt of a hash that is not bcrypt's.
func splitDigest(hash string) (digest []byte, salt string, ok bool) {
	if len(hash) > maxHashBytes {
		return nil, "", false
	}
	digits, salt, _ := strings.Cut(hash, ":")
	digest, err := hex.DecodeString(digits)
	if err != nil || strings.Contains(salt, ":") || digestOf(len(digest), "") == nil {
		return nil, "", false
	}
	return digest, salt, true
}

// verifyDigest reports whether hash is a digest of a password.
func verifyDigest(hash, password string) bool {
	digest, salt, ok := splitDigest(hash)
	return ok && subtle.ConstantTimeCompare(digest, digestOf(len(digest), salt+password)) == 1
}

// digestOf returns the digest of a text by the hash function with the given digest length
// in bytes, nil if there is none.
func digestOf(length int, text string) []byte {
	switch length {
	case md5.Size:
		sum := md5.Sum([]byte(text))
		return sum[:]
	case sha256.Size:
		sum := sha256.Sum256([]byte(text))
		return sum[:]
	case sha512.Size:
		sum := sha512.Sum512([]byte(text))
		return sum[:]
	default:
		return nil
	}
}

// bcryptInput returns the bytes to be hashed: the password, or the digest of one that is
// too long for bcrypt.
func bcryptInput(password string) []byte {
	if len(password) <= bcryptMaxBytes {
		return []byte(password)
	}
	digest := sha256.Sum256([]byte(password))
	return []byte(base64.RawStdEncoding.EncodeToString(digest[:]))
}
