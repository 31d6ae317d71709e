package mapping

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// legacyTag names what all replies of the old system depend on. What a write there
// changes nobody here can tell for sure.
const legacyTag = "legacy"

// maxKeptLegacy bounds the body of a reply of the old system that is kept, in bytes.
const maxCachedLegacyBody = 1 << 20

// A LegacyReply is a whole reply of the old system. Nothing in it may be changed.
type LegacyReply struct {
	Status int
	Header http.Header
	Body   []byte `json:"-"`

	// Kept and Age are those of [Response].
	CacheOutcome string        `json:"-"`
	Age          time.Duration `json:"-"`
}

// AskLegacy gets the reply to a request from the old system, with a body of at most
// so many bytes, and sends only these of the client's headers. A reply that cannot be
// had whole has status 0.
type FetchLegacy func(ctx context.Context, headers []string, most int) (LegacyReply, error)

// KeptLegacy returns the reply of the old system to r, which must be owned, where it
// is one of those that are kept: one that is, or what ask gets. ok is false for all
// others, which are to be passed on. host is what X-Forwarded-Host names to the old
// system. An error means that the old system cannot answer.
func (s *Service) CachedLegacy(ctx context.Context, r *http.Request, scheme, host string, fetch FetchLegacy) (reply LegacyReply, ok bool, err error) {
	if s.replyCache == nil || !s.settings.CacheLegacy {
		return reply, false, nil
	}
	c, _ := s.newLegacyCall(ctx, r, scheme)
	at, ok := s.replyCache.cacheable(c)
	if !ok || !isPlainRequest(r) {
		return reply, false, nil
	}
	sum, ok := s.replyCache.legacyFingerprint(r, scheme, host)
	if !ok {
		return reply, false, nil
	}
	tags := append(s.replyCache.calls[at].tags(c), legacyTag)
	value, outcome, age, err := s.replyCache.Get(ctx, sum, sum, tags, func(ctx context.Context, _ [16]byte) ([]byte, time.Duration, error) {
		return s.fillLegacy(ctx, c, fetch)
	})
	if err != nil {
		return reply, false, err
	}
	reply, ok = decodeLegacyReply(value)
	reply.CacheOutcome, reply.Age = outcome, age
	return reply, ok, nil
}

// plainRequest reports whether the reply to a Guest's r depends on no more than the
// sum of legacyRequest holds.
func isPlainRequest(r *http.Request) bool {
	for _, name := range [...]string{"Cookie", "Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Expect"} {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	return r.ContentLength == 0
}

// legacyRequest is request, of replies of the old system: the sum of all that is sent.
func (g *replyCache) legacyFingerprint(r *http.Request, scheme, host string) (sum [32]byte, ok bool) {
	near, ok := g.fingerprint(r, scheme)
	if !ok {
		return sum, false
	}
	text := appendSized(appendSized(near[:], legacyTag), host)
	for _, name := range legacyHeaders() {
		values := r.Header[name]
		text = binary.AppendUvarint(text, uint64(len(values)))
		for _, value := range values {
			text = appendSized(text, value)
		}
	}
	return sha256.Sum256(appendSized(text, r.RequestURI)), true
}

// legacyHeaders are the headers of a client that the old system gets in a request whose
// reply is cached. All of them are part of the key: a header that is sent and not part of
// it would let one client choose what the others read.
func legacyHeaders() []string {
	return []string{"Accept", "Accept-Encoding", "Accept-Language", "Version"}
}

// fillLegacy is fill, for the old system.
func (s *Service) fillLegacy(ctx context.Context, c *Call, fetch FetchLegacy) (value []byte, ttl time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("call", c.Name()), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			value, ttl, err = nil, 0, nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	reply, err := fetch(ctx, legacyHeaders(), maxCachedLegacyBody)
	switch {
	case err != nil && adapter.KindOf(err) == adapter.Unavailable, errors.Is(err, context.DeadlineExceeded):
		return nil, 0, err
	case err != nil || !isCacheable(&reply):
		return nil, 0, nil // each who waits asks for itself
	case reply.Status == http.StatusNotFound:
		ttl = notFoundTTL
	default:
		ttl = math.MaxInt64
	}
	value, err = encodeLegacyReply(&reply)
	return value, ttl, err
}

// keepable reports whether a reply may be shown to all Guests. What the old system
// says of caching is for others: PHP forbids it for every page of a session.
func isCacheable(r *LegacyReply) bool {
	if r.Status != http.StatusOK && r.Status != http.StatusNotFound || len(r.Header["Set-Cookie"]) > 0 {
		return false
	}
	varies := append(legacyHeaders(), "Authorization", "Cookie") // none of the last two is sent
	for _, line := range r.Header["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			if !slices.Contains(varies, http.CanonicalHeaderKey(strings.TrimSpace(name))) {
				return false
			}
		}
	}
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return slices.Contains([]string{"application/xml", "text/xml", "application/json", "text/plain"}, strings.ToLower(strings.TrimSpace(mediaType)))
}

// encodeLegacy writes a reply as its head, with its length in front, and its body.
func encodeLegacyReply(r *LegacyReply) ([]byte, error) {
	head := *r
	head.Header = r.Header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} { // of one reply alone, or known
		head.Header.Del(name)
	}
	text, err := json.Marshal(&head)
	if err != nil {
		return nil, fmt.Errorf("mapping: keep a reply: %w", err)
	}
	return append(appendSized(nil, string(text)), r.Body...), nil
}

// decodeLegacy reads what encodeLegacy wrote. ok is false for what is no reply,
// wherever it comes from.
func decodeLegacyReply(value []byte) (r LegacyReply, ok bool) {
	length, n := binary.Uvarint(value)
	if n <= 0 || length > uint64(len(value)-n) {
		return r, false
	}
	head, body := value[n:n+int(length)], value[n+int(length):]
	if json.Unmarshal(head, &r) != nil || r.Status != http.StatusOK && r.Status != http.StatusNotFound || r.Header == nil {
		return LegacyReply{}, false
	}
	r.Body = body
	return r, true
}

// LegacyChange begins the change that r, which goes to the old system, may make of
// replies that are kept. done ends it, and must be called before the reply is
// written. r must be owned.
func (s *Service) BeginLegacyChange(ctx context.Context, r *http.Request) (done func()) {
	address, _ := s.table.Address(r.Method, r.URL.EscapedPath())
	if s.settings.ReplyCache == nil || address.Reads || address.Route == nil {
		return func() {}
	}
	resource := adapter.Resource(address.Route.Resource)
	if _, shown := guestReplyTags()[resource]; !shown {
		return func() {}
	}
	tags := []string{legacyTag, catalogTag, stockTag}
	c := Call{Address: address}
	if id, err := strconv.ParseInt(c.Param("id"), 10, 64); err == nil && resource != adapter.StockItems {
		tags = append(tags, productTag(id))
	}
	return s.settings.ReplyCache.Change(ctx, tags)
}
