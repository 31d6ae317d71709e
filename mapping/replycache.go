package mapping

import (
	"bytes"
	"cmp"
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
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// Replies keeps finished replies to Guests' reads of products. It is package
// cache, seen from here; nil in [Settings] keeps none.
type ReplyCache interface {
	// Near returns the reply to a request that was sent before exactly like this.
	Near(request [32]byte) (value []byte, ok bool)
	// Get returns the reply under key, or what fill makes, which holds for at most
	// ttl and until a change of one of the tags; ttl 0 is for this moment only.
	// fill runs once for all who wait, and goes on when they leave. generation is
	// that of the tags where services share it, or else zero. An error means that
	// the upstream cannot answer; then an older reply may do. outcome is "hit",
	// "miss", "stale", "coalesced" or "bypass", age that of the reply.
	Get(ctx context.Context, request, key [32]byte, tags []string, fill func(ctx context.Context, generation [16]byte) (value []byte, ttl time.Duration, err error)) (value []byte, outcome string, age time.Duration, err error)
	// Change begins a change of what the tags name, before it is committed. done
	// ends it: from then on no reply from before is handed out.
	Change(ctx context.Context, tags []string) (done func())
}

const (
	// notFoundTTL is how long a Guest is told of a missing product without another
	// look.
	notFoundTTL = 10 * time.Second
	// fillTimeout bounds the work for a reply that several callers may wait for.
	fillTimeout = 30 * time.Second
	// maxKeptQuery bounds the query strings of replies that are kept, in bytes: no
	// client that repeats itself sends longer ones.
	maxCachedQuery = 8 << 10
)

// Tags name what replies depend on. A product's own reads by its number depend on
// it alone; all others on the catalogue, and what shows stock on that of all
// products.
const (
	catalogTag = "catalog"
	stockTag   = "stock"
)

func productTag(id int64) string { return "product:" + strconv.FormatInt(id, 10) }

// A keptCall is a call whose replies to Guests are kept.
type cachedCall struct {
	name            string
	byProduct       bool // the product of its path, not a list
	showsStock      bool
	showsRequestURL bool // the request's own URL is in the reply
}

func cachedCalls() []cachedCall {
	return []cachedCall{
		{name: "getProduct", byProduct: true, showsStock: true, showsRequestURL: true},
		{name: "listProducts"},
		{name: "listProductImages", byProduct: true},
		{name: "getProductImage", byProduct: true},
	}
}

// modifiers are the parameters of a query that kept calls read.
func cachedParameters() []string {
	return []string{"attrs", "category_id", "dir", "filter", "limit", "order", "page", "store"}
}

// guestReplies is where the service looks before it reads products for a Guest.
type replyCache struct {
	ReplyCache
	calls      []cachedCall
	parameters []string // parameters
	baseHash   [32]byte // what all replies depend on
}

func newReplyCache(d *contract.Dialect, settings *Settings) *replyCache {
	if settings.ReplyCache == nil {
		return nil
	}
	sum := sha256.New()
	for _, part := range []string{"portico replies 1", d.Name, settings.PublicURL, settings.Fingerprint} {
		hashText(sum, part)
	}
	return &replyCache{settings.ReplyCache, cachedCalls(), cachedParameters(), [32]byte(sum.Sum(nil))}
}

// request returns the sum of all that the reply to a Guest's request can depend
// on. ok is false for other requests, and for those that are not worth it.
func (g *replyCache) fingerprint(r *http.Request, scheme string) (sum [32]byte, ok bool) {
	const products = contract.Base + "/products"
	path := r.URL.EscapedPath()
	if r.Method != http.MethodGet || len(path) < len(products) || path[:len(products)] != products ||
		len(r.URL.RawQuery) > maxCachedQuery || len(path) > maxCachedQuery || len(r.Header["Authorization"]) > 0 {
		return sum, false
	}
	var room [1 << 10]byte
	text := append(room[:0], g.baseHash[:]...)
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

// call returns how the replies to c are kept, if they are. A list without a limit
// is not: it may be as long as the catalogue.
func (g *replyCache) cacheable(c *Call) (at int, ok bool) {
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

// key returns the sum of what the reply to c depends on, in whatever spelling.
func (g *replyCache) cacheKey(c *Call, call *cachedCall, publicURL string) [32]byte {
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

// writeNode writes n so that no other node reads the same.
func hashNode(to hash.Hash, n *codec.Node) {
	to.Write(binary.AppendUvarint([]byte{byte(n.Kind)}, uint64(len(n.Members))))
	hashText(to, n.Text)
	for i := range n.Members {
		hashText(to, n.Members[i].Key)
		hashNode(to, &n.Members[i].Value)
	}
}

func hashText(to hash.Hash, text string) { to.Write(appendSized(nil, text)) }

// appendText appends a text with its length in front.
func appendSized(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// tags returns what the reply to c depends on.
func (k *cachedCall) tags(c *Call) []string {
	if !k.byProduct {
		return []string{catalogTag}
	}
	text := c.Param("id")
	if id, ok := numeric.ID(text); ok && canonicalInteger.MatchString(text) {
		return []string{productTag(id)}
	}
	if k.showsStock { // by SKU: nobody knows beforehand of which product
		return []string{catalogTag, stockTag}
	}
	return []string{catalogTag}
}

// kept answers c from a reply that is kept, or keeps the answer. ok is false where
// what was kept is no reply.
func (s *Service) serveThroughCache(ctx context.Context, c *Call, at int, buf []byte) (response Response, ok bool) {
	call := &s.replyCache.calls[at]
	fingerprint, _ := s.replyCache.fingerprint(c.request, c.scheme)
	value, outcome, age, err := s.replyCache.Get(ctx, fingerprint, s.replyCache.cacheKey(c, call, s.settings.PublicURL), call.tags(c),
		func(ctx context.Context, generation [16]byte) ([]byte, time.Duration, error) {
			return s.fillReply(context.WithValue(ctx, sharedGenerationKey{}, generation), c, at)
		})
	if err != nil {
		return s.renderError(ctx, c, err, buf), true
	}
	return s.cachedResponse(value, outcome, age, buf)
}

// fill makes the reply to c and says how long it holds. An error is that of an
// upstream that cannot answer.
func (s *Service) fillReply(ctx context.Context, c *Call, at int) (value []byte, ttl time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(ctx, c, p)
			response := s.renderError(ctx, c, errPanicked, nil)
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
	case reply.NextBatch != nil: // larger than what is cached: each caller gets its own
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

// untilPricesChange returns the time until the reply to c shows other prices
// although nobody has written.
func (s *Service) untilPricesChange(c *Call) time.Duration {
	if c.buyer == nil || c.buyer.nextChange == "" {
		return math.MaxInt64
	}
	now := s.settings.Now()
	at, err := time.ParseInLocation(time.DateTime, c.buyer.nextChange, cmp.Or(s.settings.Prices.TimeZone, time.UTC))
	if err != nil {
		return 0
	}
	// Where clocks are set back the hour comes twice: the first time counts.
	if earlier := at.Add(-time.Hour); earlier.Format(time.DateTime) == at.Format(time.DateTime) {
		at = earlier
	}
	return max(at.Sub(now), 0)
}

// keptHeader is the length of what stands before the body of a kept reply:
//
//	status 2 bytes, call 1, format 1, flags 1, entity tag 16, place of the form
//	key in the body 4
//
// Without a form key the place is behind the body.
const cachedHeaderSize = 2 + 1 + 1 + 1 + entityTagSize + 4

// The flags of a kept reply.
const (
	bareFlag        = 1 << iota // outside the envelope
	clientErrorFlag             // [Response.ClientError]
)

// entityTag is the length of what identifies a body, in bytes.
const entityTagSize = 16

func encodeResponse(c *Call, at int, r *Response) []byte {
	place := len(r.Body)
	if c.formKey != "" {
		if found := bytes.Index(r.Body, []byte(c.formKey)); found >= 0 {
			place = found
			copy(r.Body[place:], make([]byte, formKeyLength)) // alike whoever filled it
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

// repeat returns the response that a kept reply holds; a body that is not as it was
// kept is in buf. ok is false for what is no reply, wherever it comes from.
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

// weakTag writes a validator: bodies that agree in it differ at most in the form
// key.
func weakETag(sum []byte) string {
	tag := make([]byte, 0, len(`W/""`)+2*entityTagSize)
	return string(append(hex.AppendEncode(append(tag, `W/"`...), sum), '"'))
}

// formKeyLength is the length of the random key of a form.
const formKeyLength = 16

func newFormKey() string { return rand.Text()[:formKeyLength] }
