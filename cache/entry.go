package cache

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"
)

// A digest stands for the generations of all tags of a reply, as they were in
// Redis. The zero digest is of none.
type digest [16]byte

// A reply is a value and what decides how long it may be handed out.
type reply struct {
	value  []byte
	made   time.Time     // when fill was called
	ttl    time.Duration // for how long it is fresh; above 0
	digest digest        // the generations in Redis before fill was called
}

// usable reports whether the reply may be handed out in place of an error.
func (r *reply) usable(now time.Time, staleTTL time.Duration) bool {
	return now.Before(r.made.Add(r.ttl + staleTTL))
}

func (r *reply) fresh(now time.Time) bool { return now.Before(r.made.Add(r.ttl)) }

// age is how long ago the reply was made. Clocks of replicas differ a little.
func (r *reply) age(now time.Time) time.Duration { return max(now.Sub(r.made), 0) }

// An entry in Redis is, in big endian:
//
//	1 byte   version of this form
//	4 bytes  CRC-32C of what follows
//	8 bytes  made, in nanoseconds since 1970
//	8 bytes  ttl, in nanoseconds
//	16 bytes digest
//	the value
const (
	entryVersion = 1
	entryHeader  = 1 + 4 + 8 + 8 + 16
)

// encode returns the entry of a reply.
func (r *reply) encode() []byte {
	b := make([]byte, 5, entryHeader+len(r.value))
	b[0] = entryVersion
	b = binary.BigEndian.AppendUint64(b, uint64(r.made.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(r.ttl))
	b = append(append(b, r.digest[:]...), r.value...)
	binary.BigEndian.PutUint32(b[1:], crc32.Checksum(b[5:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// decode returns the reply of an entry, whose value is a part of b, or false for
// anything that encode has not made.
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
