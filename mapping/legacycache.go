package mapping

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/replycache"
	"github.com/portico-commerce/portico/mapping/resource"
)

// legacyTag is a tag of every cached reply of the legacy store. A write there may change
// any of them.
const legacyTag = "legacy"

// maxCachedLegacyBody is the size of the largest cached body of the legacy store, in
// bytes.
const maxCachedLegacyBody = 1 << 20

// A LegacyReply is a complete reply of the legacy store. It must not be modified.
type LegacyReply struct {
	Status int
	Header http.Header
	Body   []byte `json:"-"`

	// CacheOutcome and Age are as in [resource.Response].
	CacheOutcome string        `json:"-"`
	Age          time.Duration `json:"-"`
}

// gateFetch requests a reply from the legacy store. It sends only the listed headers of the
// client, and returns a body of at most maxBytes bytes. If the reply is longer or
// incomplete, its status is 0.
type gateFetch func(ctx context.Context, headers []string, maxBytes int) (LegacyReply, error)

// CachedLegacy returns the legacy store's reply to r, which must be an API request, if
// replies to such requests are cached: from the cache, or else from fetch. ok is false
// for all other requests, which have to be forwarded. host is the X-Forwarded-Host that
// the legacy store gets. An error means that the legacy store is unavailable.
func (s *Gate) CachedLegacy(ctx context.Context, r *resource.Request, host string, fetch gateFetch) (reply LegacyReply, ok bool, err error) {
	if s.replyCache == nil || !s.settings.CacheLegacy {
		return reply, false, nil
	}
	c, _ := s.pipeline.Begin(ctx, r)
	at, ok := s.replyCache.Cacheable(&c.Call)
	if !ok || !isPlainRequest(r.HTTP) {
		return reply, false, nil
	}
	sum, ok := legacyFingerprint(s.replyCache, r.HTTP, r.Scheme, host)
	if !ok {
		return reply, false, nil
	}
	tags := append(s.replyCache.Tags(&c.Call, at), legacyTag)
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

// isPlainRequest reports whether the reply to a Guest's r depends only on the parts that
// legacyFingerprint covers.
func isPlainRequest(r *http.Request) bool {
	for _, name := range [...]string{"Cookie", "Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Expect"} {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	return r.ContentLength == 0
}

// legacyFingerprint is like fingerprint, for replies of the legacy store. It covers
// everything that is sent there.
func legacyFingerprint(g *replycache.Guests, r *http.Request, scheme, host string) (sum [32]byte, ok bool) {
	near, ok := g.Fingerprint(r, scheme)
	if !ok {
		return sum, false
	}
	text := replycache.AppendSized(replycache.AppendSized(near[:], legacyTag), host)
	for _, name := range legacyHeaders() {
		values := r.Header[name]
		text = binary.AppendUvarint(text, uint64(len(values)))
		for _, value := range values {
			text = replycache.AppendSized(text, value)
		}
	}
	return sha256.Sum256(replycache.AppendSized(text, r.RequestURI)), true
}

// legacyHeaders lists the client's headers that are sent to the legacy store for a cached
// reply. All of them are part of the cache key; otherwise one client could choose the
// replies of others.
func legacyHeaders() []string {
	return []string{"Accept", "Accept-Encoding", "Accept-Language", "Version"}
}

// fillLegacy is like fillReply, for the legacy store.
func (s *Gate) fillLegacy(ctx context.Context, c *pipeline.Run, fetch gateFetch) (value []byte, ttl time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.pipeline.LogPanic(ctx, c, p)
			value, ttl, err = nil, 0, nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, replycache.FillTimeout)
	defer cancel()
	reply, err := fetch(ctx, legacyHeaders(), maxCachedLegacyBody)
	switch {
	case err != nil && adapter.KindOf(err) == adapter.Unavailable, errors.Is(err, context.DeadlineExceeded):
		return nil, 0, err
	case err != nil || !isCacheable(&reply):
		return nil, 0, nil // not cached: each waiting caller sends its own request
	case reply.Status == http.StatusNotFound:
		ttl = replycache.NotFoundTTL
	default:
		ttl = math.MaxInt64
	}
	value, err = encodeLegacyReply(&reply)
	return value, ttl, err
}

// isCacheable reports whether a reply may be served to all Guests. It ignores
// Cache-Control, because PHP forbids caching for every page of a session.
func isCacheable(r *LegacyReply) bool {
	if r.Status != http.StatusOK && r.Status != http.StatusNotFound || len(r.Header["Set-Cookie"]) > 0 {
		return false
	}
	varies := append(legacyHeaders(), "Authorization", "Cookie") // neither of the last two is sent
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

// encodeLegacyReply encodes a reply as the length of its head, its head and its body.
func encodeLegacyReply(r *LegacyReply) ([]byte, error) {
	head := *r
	head.Header = r.Header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} { // specific to one reply, or computed again
		head.Header.Del(name)
	}
	text, err := json.Marshal(&head)
	if err != nil {
		return nil, fmt.Errorf("mapping: encode a legacy reply: %w", err)
	}
	return append(replycache.AppendSized(nil, string(text)), r.Body...), nil
}

// decodeLegacyReply decodes the output of encodeLegacyReply. ok is false for any other
// value.
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

// BeginLegacyWrite begins to invalidate the cached replies that r, a request for the
// legacy store, may change. The caller must call done before it sends the reply to r. r
// must be an API request.
func (s *Gate) BeginLegacyWrite(ctx context.Context, r *resource.Request) (done func()) {
	address := s.pipeline.Address(r)
	if s.replyCache == nil || address.ReadOnly || address.Route == nil {
		return func() {}
	}
	kind := adapter.Resource(address.Route.Resource)
	if _, shown := replycache.GuestReplyTags()[kind]; !shown {
		return func() {}
	}
	tags := []string{legacyTag, replycache.CatalogTag, replycache.StockTag}
	c := resource.Call{Address: *address}
	if id, err := strconv.ParseInt(c.Param("id"), 10, 64); err == nil && kind != adapter.StockItems {
		tags = append(tags, replycache.ProductTag(id))
	}
	return s.replyCache.BeginWrite(ctx, tags)
}
