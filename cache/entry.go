package cache

import (
	"encoding/binary"
	"hash/crc32"
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

// usable reports whether the reply may be returned while the upstream cannot answer.
func (r *reply) usable(now time.Time, staleTTL time.Duration) bool {
	return now.Before(r.made.Add(r.ttl + staleTTL))
}

func (r *reply) fresh(now time.Time) bool { return now.Before(r.made.Add(r.ttl)) }

// age returns the time since the reply was made. It is never negative: clocks of replicas
// differ a little.
func (r *reply) age(now time.Time) time.Duration { return max(now.Sub(r.made), 0) }

// The format of an entry in Redis is, in big endian:
//
//	1 byte   format version
//	4 bytes  CRC-32C of the rest
//	8 bytes  made, in nanoseconds since 1970
//	8 bytes  ttl, in nanoseconds
//	16 bytes digest
//	the value
const (
	entryVersion = 1
	entryHeader  = 1 + 4 + 8 + 8 + 16
)

// encode returns the entry for a reply.
func (r *reply) encode() []byte {
	b := make([]byte, 5, entryHeader+len(r.value))
	b[0] = entryVersion
	b = binary.BigEndian.AppendUint64(b, uint64(r.made.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(r.ttl))
	b = append(append(b, r.digest[:]...), r.value...)
	binary.BigEndian.PutUint32(b[1:], crc32.Checksum(b[5:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// decode returns the reply of an entry. It reports false for bytes that encode did not
// produce. The value of the reply is a slice of b.
func decode(b []byte) (*reply, bool) {
	if len(b) < entryHeader || b[0] != entryVersion ||
		binary.BigEndian.Uint32(b[1:]) != crc32.Checksum(b[5:], crc32.MakeTable(crc32.Castagnoli)) {
		return nil, false
	}
	made, ttl := binary.BigEndian.Uint64(b[5:]), binary.BigEndian.Uint64(b[13:])
	if made > math.MaxInt64 || ttl > math.MaxInt64 || ttl == 0 {
		return nil, false
	}
	r := &reply{made: time.Unix(0, int64(made)), ttl: time.Duration(ttl), value: b[entryHeader:]}
	copy(r.digest[:], b[21:])
	return r, true
}
