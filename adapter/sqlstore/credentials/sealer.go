package credentials

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A RekeyReport counts the secrets that Rekey has processed.
type RekeyReport struct {
	Sealed  int `json:"sealed"`  // encrypted under the configured key by this call
	Already int `json:"already"` // were encrypted under it before
}

// rekeyBatch is the number of secrets that one statement reads.
const rekeyBatch = 500

var errNoKey = errors.New("no secret key is configured to encrypt the secrets with")

// Rekey encrypts the secrets of all consumers and tokens under the configured key, in one
// transaction. old is the former key; secrets that are stored unencrypted need none.
// Kinds: Invalid if neither key decrypts a secret or no key is configured, Unavailable,
// Internal.
func (c *Store) Rekey(ctx context.Context, old string) (RekeyReport, error) {
	const op = "encrypt secrets"
	if c.sealer.aead == nil {
		return RekeyReport{}, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "secret_key", Err: errNoKey}
	}
	before, err := newSealer(old)
	if err != nil {
		return RekeyReport{}, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "old secret_key", Err: err}
	}
	var done RekeyReport
	err = c.db.WriteAlone(ctx, op, func(tx *engine.Tx) error {
		done = RekeyReport{}
		for _, table := range []sealedTable{
			{"oauth_consumer", "consumer_id", "consumer_key_lower", "consumer"},
			{"oauth_token", "token_id", "token_lower", "token"},
		} {
			if err := c.rekey(ctx, tx, table, before, &done); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return RekeyReport{}, err
	}
	return done, nil
}

// A sealedTable is a table with a sealed secret in each row.
type sealedTable struct{ name, keyColumn, lookupColumn, owner string }

// A sealedSecret is the secret of a row.
type sealedSecret struct {
	id             int64
	lookup, secret string // lookup is the value of sealedTable.lookupColumn
}

func (c *Store) rekey(ctx context.Context, tx *engine.Tx, table sealedTable, before sealer, done *RekeyReport) error {
	for after := int64(0); ; {
		batch, err := c.lockSealedAfter(ctx, tx, table, after)
		if err != nil || len(batch) == 0 {
			return err
		}
		for _, s := range batch {
			after = s.id
			owner := table.owner + " " + s.lookup
			if _, err := c.sealer.open(s.secret, owner); err == nil && isSealed(s.secret) {
				done.Already++
				continue
			}
			secret, err := before.open(s.secret, owner)
			if err != nil {
				return &adapter.Error{Kind: adapter.Invalid, Op: fmt.Sprintf("open the secret of %s %d", table.owner, s.id), Field: "old secret_key", Err: err}
			}
			sealed, err := c.sealer.seal(secret, owner)
			if err == nil {
				_, err = tx.Run(ctx, "UPDATE "+table.name+" SET secret = ? WHERE "+table.keyColumn+" = ?", sealed, s.id)
			}
			if err != nil {
				return err
			}
			done.Sealed++
		}
	}
}

// lockSealedAfter locks and returns the secrets of the next rows after an id.
func (c *Store) lockSealedAfter(ctx context.Context, tx *engine.Tx, table sealedTable, after int64) ([]sealedSecret, error) {
	text := "SELECT " + table.keyColumn + ", " + table.lookupColumn + ", secret FROM " + table.name + " WHERE " + table.keyColumn + " > ? ORDER BY " + table.keyColumn + " LIMIT ?" + c.db.Engine.LockClause
	return engine.CollectRows(ctx, tx.Query, func(rows engine.Rows) (s sealedSecret, err error) {
		err = rows.Scan(&s.id, &s.lookup, &s.secret)
		return s, err
	}, text, after, rekeyBatch)
}

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
