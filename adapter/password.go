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
	// longestPassword is what bcrypt takes, in bytes.
	longestPassword = 72
	// longestHash bounds a stored hash, in bytes: SHA-512 in hexadecimal and a salt.
	longestHash = 255
	// highestCost bounds the cost of a hash that came from elsewhere: each step
	// doubles the time of a log-in, and at this one it takes about two seconds.
	highestCost = 15
	// noPassword is a form of hashes that no password is known for, by their cost.
	noPassword = "$2a$%02d$HElkg6R6FjSd3Be1rrdb2.3t1oPupxR5Mb9GVCCSXx95ckFKmxKPi"
)

// HashPassword returns the bcrypt hash of a password of any length, at the cost
// given, or at bcrypt.DefaultCost for 0. It fails for a cost that bcrypt does not know.
func HashPassword(password string, cost int) (string, error) {
	hash, err := bcrypt.GenerateFromPassword(passwordBytes(password), cost)
	return string(hash), err
}

// PasswordMatches reports whether hash is that of a password, as HashPassword makes
// it.
func PasswordMatches(hash, password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(hash), passwordBytes(password)) == nil
}

// VerifyPassword reports whether a stored hash is that of a password, and whether
// the hash should be replaced by one of HashPassword, now that the password is known.
// It knows the forms in which shops that came over have kept them:
//
//   - bcrypt, of HashPassword or any other program; those cut a password after 72
//     bytes. One of cost above 15 is not taken: it would hold up the server;
//   - MD5, SHA-256 or SHA-512 in hexadecimal of the salt followed by the password,
//     then ":" and the salt;
//   - the same without ":" and salt, of the password alone.
//
// What has another form, "" included, is the hash of no password. The time of an answer
// tells the form: to strangers, answer with a [PasswordChecker].
func VerifyPassword(hash, password string) (ok, upgrade bool) {
	return verifyPassword(hash, password, bcrypt.CompareHashAndPassword)
}

// verifyPassword is VerifyPassword, with bcrypt's comparison.
func verifyPassword(hash, password string, compare func(hash, password []byte) error) (ok, upgrade bool) {
	switch {
	case !isBcrypt(hash):
		ok := verifyDigest(hash, password)
		return ok, ok
	case !KnownPasswordHash(hash):
		return false, false
	case compare([]byte(hash), passwordBytes(password)) == nil:
		return true, false
	case comparisons(password) == 1:
		return false, false
	}
	cut := compare([]byte(hash), []byte(password[:longestPassword])) == nil
	return cut, cut
}

func isBcrypt(hash string) bool { return strings.HasPrefix(hash, "$2") }

// comparisons returns with how many texts a bcrypt hash is compared for a password: one
// that bcrypt would not take whole may have been digested, or cut.
func comparisons(password string) int {
	if len(password) <= longestPassword {
		return 1
	}
	return 2
}

// KnownPasswordHash reports whether a stored hash has one of the forms that
// VerifyPassword knows.
func KnownPasswordHash(hash string) bool {
	if isBcrypt(hash) {
		cost, err := bcrypt.Cost([]byte(hash))
		return err == nil && cost <= highestCost
	}
	_, _, ok := splitDigest(hash)
	return ok
}

// splitDigest returns the digest and the salt of a stored hash that is none of bcrypt.
func splitDigest(hash string) (digest []byte, salt string, ok bool) {
	if len(hash) > longestHash {
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

// digestOf returns the digest of a text by the function whose digests are so many bytes
// long, nil when there is none.
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

// passwordBytes returns what is hashed: the password, or the digest of one that
// bcrypt would not take whole.
func passwordBytes(password string) []byte {
	if len(password) <= longestPassword {
		return []byte(password)
	}
	digest := sha256.Sum256([]byte(password))
	return []byte(base64.RawStdEncoding.EncodeToString(digest[:]))
}
