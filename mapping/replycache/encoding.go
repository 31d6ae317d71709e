package replycache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// cachedHeaderSize is the length of the header before the body of a cached reply:
//
//	status 2 bytes, call 1, format 1, flags 1, entity tag 16, offset of the form
//	key in the body 4
//
// Without a form key that offset is the length of the body.
const cachedHeaderSize = 2 + 1 + 1 + 1 + entityTagSize + 4

// Flags of a cached reply.
const (
	bareFlag        = 1 << iota // the body is plain HTML, not an envelope
	clientErrorFlag             // see [resource.Response.ClientError]
)

// entityTagSize is the length of the hash that identifies a body, in bytes.
const entityTagSize = 16

// Encode encodes the reply to c, the cached call at the given index.
func Encode(c *resource.Call, at int, r *resource.Response) []byte {
	place := len(r.Body)
	if c.FormKey != "" {
		if found := bytes.Index(r.Body, []byte(c.FormKey)); found >= 0 {
			place = found
			copy(r.Body[place:], make([]byte, resource.FormKeyLength)) // the same hash for every fill
		}
	}
	sum := sha256.Sum256(r.Body)
	value := make([]byte, 0, cachedHeaderSize+len(r.Body))
	value = binary.BigEndian.AppendUint16(value, uint16(r.Status))
	value = append(value, byte(at), byte(c.Format), 0)
	if r.ContentType == resource.HTMLType {
		value[4] |= bareFlag
	}
	if r.ClientError {
		value[4] |= clientErrorFlag
	}
	value = append(value, sum[:entityTagSize]...)
	value = binary.BigEndian.AppendUint32(value, uint32(place))
	return append(value, r.Body...)
}

// Decode decodes a cached reply. If the reply needs a new form key, its body is
// appended to buf; otherwise the body is part of value. ok is false if value is not a
// valid encoding.
func (g *Guests) Decode(value []byte, outcome string, age time.Duration, buf []byte) (response resource.Response, ok bool) {
	if len(value) < cachedHeaderSize || int(value[2]) >= len(g.calls) {
		return response, false
	}
	header, body := value[:cachedHeaderSize], value[cachedHeaderSize:]
	status, place := int(binary.BigEndian.Uint16(header)), int(binary.BigEndian.Uint32(header[5+entityTagSize:]))
	if status < http.StatusOK || status > 599 || place != len(body) && place+resource.FormKeyLength > len(body) {
		return response, false
	}
	format := contract.Format(header[3])
	response = resource.Response{
		Status:       status,
		ContentType:  format.ContentType(),
		Body:         body,
		Call:         g.calls[header[2]].name,
		Role:         contract.Guest.String(),
		Format:       format.String(),
		CacheOutcome: outcome,
		Age:          age,
		ClientError:  header[4]&clientErrorFlag != 0,
	}
	if header[4]&bareFlag != 0 {
		response.ContentType = resource.HTMLType
	}
	if g.dialect.Validators && status == http.StatusOK {
		response.EntityTag = weakETag(header[5 : 5+entityTagSize])
	}
	if place < len(body) {
		response.Body = append(buf, body...)
		copy(response.Body[len(buf)+place:], resource.NewFormKey())
	}
	return response, true
}

// weakETag returns the ETag for a hash. Bodies with the same ETag differ only in their
// form key.
func weakETag(sum []byte) string {
	tag := make([]byte, 0, len(`W/""`)+2*entityTagSize)
	return string(append(hex.AppendEncode(append(tag, `W/"`...), sum), '"'))
}
