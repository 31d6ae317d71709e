package cache

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"
)

// A digest is a hash of the generations of all tags of a reply in Redis. The zero digest
// means that they are unknown.
type digest [16]byte

// A reply is a value with its age and lifetime.
type reply struct {
	value  []byte
	made   time.Time     // when fill was called
	ttl    time.Duration // how long it is fresh; positive
	digest digest        // generations in Redis before fill was called
}

// maxSkew is the greatest difference between the clocks of replicas. A reply from further in the
// future was made before a clock was set back, and its age is unknown.
const maxSkew = time.Minute

// usable reports whether the reply may be returned while the upstream cannot answer.
func (r *reply) usable(now time.Time, staleTTL time.Duration) bool {
	return r.made.Sub(now) <= maxSkew && now.Before(r.made.Add(r.ttl+staleTTL))
}

func (r *reply) fresh(now time.Time) bool { return r.usable(now, 0) }

// age returns the time since the reply was made. It is never negative: clocks of replicas
// differ a little.
func (r *reply) age(now time.Time) time.Duration { return max(now.Sub(r.made), 0) }

// A storeEpoch holds the values that all replies of a store share in Redis until the store is
// replaced: a part of their keys, and the cipher that computes their checksums.
type storeEpoch struct {
	name     string
	space    [sha256.Size]byte
	checksum cipher.AEAD
}

// newStoreEpoch derives the keys of an epoch of the store from the secret, which may be empty.
func newStoreEpoch(secret, name string) (*storeEpoch, error) {
	const keySize = 32
	e := &storeEpoch{name: name}
	keys, err := hkdf.Key(sha256.New, []byte(secret), []byte(name), "portico cached replies", len(e.space)+keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(keys[copy(e.space[:], keys):])
	if err != nil {
		return nil, err
	}
	// A random nonce of 96 bits is safe for about four thousand million replies.
	e.checksum, err = cipher.NewGCMWithRandomNonce(block)
	return e, err
}

// An entryID identifies the entry of a reply in Redis.
type entryID struct {
	epoch *storeEpoch
	sum   [sha256.Size]byte // of the epoch, the secret and the caller's key
}

// entry returns the id of the entry of a key.
func (e *storeEpoch) entry(key [32]byte) entryID {
	var both [len(e.space) + len(key)]byte
	copy(both[copy(both[:], e.space[:]):], key[:])
	return entryID{e, sha256.Sum256(both[:])}
}

// The format of an entry in Redis is, in big endian:
//
//	1 byte   format version
//	28 bytes checksum of the rest: AES-GCM without a plaintext, with its nonce
//	32 bytes id of the entry, so that none is taken for another one
//	8 bytes  made, in nanoseconds since 1970
//	8 bytes  ttl, in nanoseconds
//	16 bytes digest
//	the value
const (
	entryVersion = 2
	checksumSize = 12 + 16
	entryHeader  = 1 + checksumSize + sha256.Size + 8 + 8 + 16
)

// encode returns the entry for a reply.
func (r *reply) encode(id entryID) []byte {
	b := make([]byte, 1+checksumSize, entryHeader+len(r.value))
	b[0] = entryVersion
	b = append(b, id.sum[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.made.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(r.ttl))
	b = append(append(b, r.digest[:]...), r.value...)
	id.epoch.checksum.Seal(b[1:1], nil, nil, b[1+checksumSize:])
	return b
}

// decode returns the reply of an entry. It reports false for bytes that encode did not
// produce for this id. The value of the reply is a slice of b.
func decode(b []byte, id entryID) (*reply, bool) {
	if len(b) < entryHeader || b[0] != entryVersion {
		return nil, false
	}
	checked := b[1+checksumSize:]
	if !bytes.HasPrefix(checked, id.sum[:]) {
		return nil, false
	}
	if _, err := id.epoch.checksum.Open(nil, nil, b[1:1+checksumSize], checked); err != nil {
		return nil, false
	}
	fields := checked[len(id.sum):]
	made, ttl := binary.BigEndian.Uint64(fields), binary.BigEndian.Uint64(fields[8:])
	if made > math.MaxInt64 || ttl > math.MaxInt64 || ttl == 0 {
		return nil, false
	}
	r := &reply{made: time.Unix(0, int64(made)), ttl: time.Duration(ttl), value: b[entryHeader:]}
	copy(r.digest[:], fields[16:])
	return r, true
}
