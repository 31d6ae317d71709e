package mapping

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// A ReplyCache caches finished replies to Guests' reads of products. Package cache
// implements it; nil in [Settings] means that replies are not cached. It must be safe for
// concurrent use.
type ReplyCache interface {
	// GetLocal returns the cached reply to an identical earlier request, from memory only.
	// fingerprint identifies the request.
	GetLocal(ctx context.Context, fingerprint [32]byte) (value []byte, ok bool)
	// Get returns the reply cached under key, or else that of fill. A reply is valid for
	// at most ttl and until one of its tags changes; ttl 0 means that it is not cached.
	// fill runs once for all concurrent callers, and goes on after they have left.
	// generation is the shared generation of the tags, or zero if processes do not share
	// the cache. request is the fingerprint under which GetLocal returns the reply from
	// then on. An error means that the backend is unavailable and no older reply may
	// stand in. outcome is "hit", "miss", "stale", "coalesced" or "bypass"; age is that
	// of the reply.
	Get(ctx context.Context, request, key [32]byte, tags []string, fill func(ctx context.Context, generation [16]byte) (value []byte, ttl time.Duration, err error)) (value []byte, outcome string, age time.Duration, err error)
	// BeginWrite begins to invalidate the replies with the given tags. A write calls it
	// before its commit, and done after it; once done has returned, the cache serves no
	// reply from before the write.
	BeginWrite(ctx context.Context, tags []string) (done func())
}

const (
	// notFoundTTL is how long the reply for a missing product is cached.
	notFoundTTL = 10 * time.Second
	// fillTimeout limits the work for a reply that several callers may wait for.
	fillTimeout = 30 * time.Second
	// maxCachedQuery is the length of the longest query string whose reply is cached, in
	// bytes. Longer ones do not repeat in practice.
	maxCachedQuery = 8 << 10
)

// Replies are tagged with what they depend on. A reply about one product, read by its
// number, has that product's tag only. All others have the catalog tag, and those that
// show stock the stock tag, too.
const (
	catalogTag = "catalog"
	stockTag   = "stock"
	// allTag is a tag of every reply, which the cache adds.
	allTag = "all"
)

// ReplyTags returns the tags of cached replies to Guests: those of all products, of their stock, and,
// after the prefix, of one product by its id.
func ReplyTags() (catalog, stock, productPrefix string) {
	return catalogTag, stockTag, productTagPrefix
}

const productTagPrefix = "product:"

func productTag(id int64) string { return productTagPrefix + strconv.FormatInt(id, 10) }

// A cachedCall is a call whose replies to Guests are cached.
type cachedCall struct {
	name            string
	byProduct       bool // about the product in the path, not a list
	showsStock      bool
	showsRequestURL bool // the reply contains the URL of the request
}

func cachedCalls() []cachedCall {
	return []cachedCall{
		{name: "getProduct", byProduct: true, showsStock: true, showsRequestURL: true},
		{name: "listProducts"},
		{name: "listProductImages", byProduct: true},
		{name: "getProductImage", byProduct: true},
	}
}

// cachedParameters returns the query parameters that the cached calls read.
func cachedParameters() []string {
	return []string{"attrs", "category_id", "dir", "filter", "limit", "order", "page", "store"}
}

// A guestReplyCache decides which replies to Guests are cached, and under which keys and
// tags.
type guestReplyCache struct {
	ReplyCache
	calls      []cachedCall
	parameters []string
	baseHash   [32]byte // hash of what all replies depend on
}

func newGuestReplyCache(d *contract.Dialect, settings *Settings) *guestReplyCache {
	if settings.ReplyCache == nil {
		return nil
	}
	sum := sha256.New()
	for _, part := range []string{"portico replies 1", d.Name, settings.PublicURL, settings.Fingerprint} {
		hashText(sum, part)
	}
	return &guestReplyCache{settings.ReplyCache, cachedCalls(), cachedParameters(), [32]byte(sum.Sum(nil))}
}

// fingerprint returns a hash of everything that the reply to a Guest's request may depend
// on. ok is false for requests whose replies are never cached.
func (g *guestReplyCache) fingerprint(r *http.Request, scheme string) (sum [32]byte, ok bool) {
	const products = contract.Base + "/products"
	path := r.URL.EscapedPath()
	if r.Method != http.MethodGet || len(path) < len(products) || path[:len(products)] != products ||
		len(r.URL.RawQuery) > maxCachedQuery || len(path) > maxCachedQuery || len(r.Header["Authorization"]) > 0 {
		return sum, false
	}
	var scratch [1 << 10]byte
	text := append(scratch[:0], g.baseHash[:]...)
	for _, part := range [...]string{scheme, r.Host, path, r.URL.RawQuery} {
		text = appendSized(text, part)
	}
	if r.URL.ForceQuery {
		text = append(text, '?')
	}
	for _, header := range [...]string{"Accept", "Version"} {
		values := r.Header[header]
		text = binary.AppendUvarint(text, uint64(len(values)))
		for _, value := range values {
			text = appendSized(text, value)
		}
	}
	return sha256.Sum256(text), true
}

// cacheable returns the index of the cached call that c is. ok is false if its reply is
// not cached: among others, that of a list without a limit, which may be as long as the
// catalog.
func (g *guestReplyCache) cacheable(c *Call) (at int, ok bool) {
	if g == nil || c.Principal.Role != contract.Guest || c.Method != contract.GET || len(c.request.URL.RawQuery) > maxCachedQuery {
		return 0, false
	}
	if limit, sent := c.Query.Get("limit"); sent {
		if n, isNumber := numeric.Parse(limit.Text); isNumber && n == 0 {
			return 0, false
		}
	}
	name := c.Name()
	at = slices.IndexFunc(g.calls, func(k cachedCall) bool { return k.name == name })
	return at, at >= 0
}

// cacheKey returns a hash of what the reply to c depends on. Different spellings of the
// same request have the same key.
func (g *guestReplyCache) cacheKey(c *Call, call *cachedCall, publicURL string) [32]byte {
	sum := sha256.New()
	sum.Write(g.baseHash[:])
	hashText(sum, call.name)
	hashText(sum, baseURL(c, publicURL))
	hashText(sum, c.Format.String())
	hashText(sum, c.Route.Path)
	for _, value := range c.Params {
		hashText(sum, value)
	}
	for _, name := range g.parameters {
		if value, sent := c.Query.Get(name); sent {
			hashText(sum, name)
			hashNode(sum, value)
		}
	}
	if call.showsRequestURL {
		hashText(sum, c.request.URL.RequestURI())
	}
	return [32]byte(sum.Sum(nil))
}

// hashNode writes an unambiguous encoding of n.
func hashNode(to hash.Hash, n *codec.Node) {
	to.Write(binary.AppendUvarint([]byte{byte(n.Kind)}, uint64(len(n.Members))))
	hashText(to, n.Text)
	for i := range n.Members {
		hashText(to, n.Members[i].Key)
		hashNode(to, &n.Members[i].Value)
	}
}

func hashText(to hash.Hash, text string) { to.Write(appendSized(nil, text)) }

// appendSized appends a text after its length.
func appendSized(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// tags returns the tags of the reply to c.
func (k *cachedCall) tags(c *Call) []string {
	if !k.byProduct {
		return []string{catalogTag}
	}
	text := c.Param("id")
	if id, ok := numeric.ID(text); ok && canonicalInteger.MatchString(text) {
		return []string{productTag(id)}
	}
	if k.showsStock { // named by its SKU, so the id is not known yet
		return []string{catalogTag, stockTag}
	}
	return []string{catalogTag}
}

// serveThroughCache answers c from the cache, filling it if necessary. ok is false if the
// cache has no usable reply.
func (s *Service) serveThroughCache(ctx context.Context, c *Call, at int, buf []byte) (response Response, ok bool) {
	call := &s.replyCache.calls[at]
	ctx, span := tracing.Start(ctx, tracing.Internal, "reply cache", "")
	defer span.End()
	fingerprint, _ := s.replyCache.fingerprint(c.request, c.scheme)
	value, outcome, age, err := s.replyCache.Get(ctx, fingerprint, s.replyCache.cacheKey(c, call, s.settings.PublicURL), call.tags(c),
		func(ctx context.Context, generation [16]byte) ([]byte, time.Duration, error) {
			return s.fillReply(context.WithValue(ctx, sharedGenerationKey{}, generation), c, at)
		})
	span.SetString("portico.cache", outcome)
	if err != nil {
		return s.renderError(ctx, c, err, buf), true
	}
	return s.cachedResponse(value, outcome, age, buf)
}

// fillReply runs c and returns its encoded reply and for how long that is valid. An error
// means that the backend is unavailable.
func (s *Service) fillReply(ctx context.Context, c *Call, at int) (value []byte, ttl time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(ctx, c, p)
			response := s.renderError(ctx, c, ErrPanicked, nil)
			value, ttl, err = encodeResponse(c, at, &response), 0, nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	reply, err := s.handle(ctx, c)
	if err != nil && (adapter.KindOf(err) == adapter.Unavailable || errors.Is(err, context.DeadlineExceeded)) {
		return nil, 0, err
	}
	var response Response
	switch {
	case err != nil:
		response = s.renderError(ctx, c, err, nil)
	case reply.NextBatch != nil: // too large to cache: each caller runs the call itself
		return nil, 0, nil
	default:
		response = s.renderReply(ctx, c, reply, nil)
	}
	switch response.Status {
	case http.StatusOK:
		ttl = s.untilPricesChange(c)
	case http.StatusNotFound:
		ttl = notFoundTTL
	}
	return encodeResponse(c, at, &response), ttl, nil
}

// untilPricesChange returns the time until a price in the reply to c changes.
func (s *Service) untilPricesChange(c *Call) time.Duration {
	if c.buyer == nil || c.buyer.nextChange == "" {
		return math.MaxInt64
	}
	now := s.settings.Now()
	at, err := time.ParseInLocation(time.DateTime, c.buyer.nextChange, c.buyer.zone)
	if err != nil {
		return 0
	}
	// When clocks go back, the local time occurs twice: take the first.
	if earlier := at.Add(-time.Hour); earlier.Format(time.DateTime) == at.Format(time.DateTime) {
		at = earlier
	}
	return max(at.Sub(now), 0)
}

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
	clientErrorFlag             // see [Response.ClientError]
)

// entityTagSize is the length of the hash that identifies a body, in bytes.
const entityTagSize = 16

func encodeResponse(c *Call, at int, r *Response) []byte {
	place := len(r.Body)
	if c.formKey != "" {
		if found := bytes.Index(r.Body, []byte(c.formKey)); found >= 0 {
			place = found
			copy(r.Body[place:], make([]byte, formKeyLength)) // the same hash for every fill
		}
	}
	sum := sha256.Sum256(r.Body)
	value := make([]byte, 0, cachedHeaderSize+len(r.Body))
	value = binary.BigEndian.AppendUint16(value, uint16(r.Status))
	value = append(value, byte(at), byte(c.Format), 0)
	if r.ContentType == htmlType {
		value[4] |= bareFlag
	}
	if r.ClientError {
		value[4] |= clientErrorFlag
	}
	value = append(value, sum[:entityTagSize]...)
	value = binary.BigEndian.AppendUint32(value, uint32(place))
	return append(value, r.Body...)
}

// cachedResponse decodes a cached reply. If the reply needs a new form key, its body is
// appended to buf; otherwise the body is part of value. ok is false if value is not a
// valid encoding.
func (s *Service) cachedResponse(value []byte, outcome string, age time.Duration, buf []byte) (response Response, ok bool) {
	if len(value) < cachedHeaderSize || int(value[2]) >= len(s.replyCache.calls) {
		return response, false
	}
	header, body := value[:cachedHeaderSize], value[cachedHeaderSize:]
	status, place := int(binary.BigEndian.Uint16(header)), int(binary.BigEndian.Uint32(header[5+entityTagSize:]))
	if status < http.StatusOK || status > 599 || place != len(body) && place+formKeyLength > len(body) {
		return response, false
	}
	format := contract.Format(header[3])
	response = Response{
		Status:       status,
		ContentType:  format.ContentType(),
		Body:         body,
		Call:         s.replyCache.calls[header[2]].name,
		Role:         contract.Guest.String(),
		Format:       format.String(),
		CacheOutcome: outcome,
		Age:          age,
		ClientError:  header[4]&clientErrorFlag != 0,
	}
	if header[4]&bareFlag != 0 {
		response.ContentType = htmlType
	}
	if s.dialect.Validators && status == http.StatusOK {
		response.EntityTag = weakETag(header[5 : 5+entityTagSize])
	}
	if place < len(body) {
		response.Body = append(buf, body...)
		copy(response.Body[len(buf)+place:], newFormKey())
	}
	return response, true
}

// weakETag returns the ETag for a hash. Bodies with the same ETag differ only in their
// form key.
func weakETag(sum []byte) string {
	tag := make([]byte, 0, len(`W/""`)+2*entityTagSize)
	return string(append(hex.AppendEncode(append(tag, `W/"`...), sum), '"'))
}

// formKeyLength is the length of the random key of a form.
const formKeyLength = 16

func newFormKey() string { return rand.Text()[:formKeyLength] }
