package replycache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A Cache caches finished replies to Guests' reads of products. Package cache
// implements it; nil in [Settings] means that replies are not cached. It must be safe for
// concurrent use.
type Cache interface {
	// GetLocal returns the cached reply to an identical earlier request, if it is in memory and
	// current, which may take a round trip to a shared cache. fingerprint identifies the request.
	GetLocal(ctx context.Context, fingerprint [32]byte) (value []byte, ok bool)
	// Get returns the reply cached under key, or else the result of fill. A reply is valid for at
	// most ttl and until one of its tags changes; ttl 0 means that it is not cached. fill runs once
	// for all concurrent callers, and goes on after they have left. generation is the shared
	// generation of the tags, or zero if processes do not share the cache. request is the
	// fingerprint under which GetLocal returns the reply from then on. An error means that the
	// backend is unavailable and no older reply may stand in. outcome is "hit", "miss", "stale",
	// "coalesced" or "bypass"; age is the age of the reply.
	Get(ctx context.Context, request, key [32]byte, tags []string, fill func(ctx context.Context, generation [16]byte) (value []byte, ttl time.Duration, err error)) (value []byte, outcome string, age time.Duration, err error)
	// BeginWrite begins to invalidate the replies with the given tags. A write calls it
	// before its commit, and done after it; once done has returned, the cache serves no
	// reply from before the write.
	BeginWrite(ctx context.Context, tags []string) (done func())
}

const (
	// NotFoundTTL is how long the reply for a missing product is cached.
	NotFoundTTL = 10 * time.Second
	// FillTimeout limits the work for a reply that several callers may wait for.
	FillTimeout = 30 * time.Second
	// maxCachedQuery is the length of the longest query string whose reply is cached, in
	// bytes. Longer ones do not repeat in practice.
	maxCachedQuery = 8 << 10
)

// Tags name the dependencies of a reply. A reply about one product, read by its number, has that
// product's tag only. All others have the catalog tag, and replies that show stock have the stock
// tag, too. Lists that leave out sold-out products have the tag in_stock: writes change it whatever
// the settings of their process, because other processes may have other settings.
const (
	CatalogTag = "catalog"
	StockTag   = "stock"
	InStockTag = "in_stock"
	// allTag is a tag of every reply, which the cache adds.
	allTag = "all"
)

// ProductTag returns the tag of the replies about one product, by its id.
func ProductTag(id int64) string { return "product:" + strconv.FormatInt(id, 10) }

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

// storeParameter is the query parameter with which lists show stock (products 3.8.5).
const storeParameter = "___store"

// cachedParameters returns the query parameters that the cached calls read.
func cachedParameters() []string {
	return []string{storeParameter, "attrs", "category_id", "dir", "filter", "limit", "order", "page", "store"}
}

// Format is the version of the contents of replies to Guests and of their encoding in the cache.
// Processes of different builds share replies if it is the same, so it must be changed whenever a
// reply to the same request from the same records looks different: during a rolling upgrade each
// version then has its own replies. TestReplyFormat notices most such changes.
const Format = 4

// A Guests decides which replies to Guests are cached, and under which keys and
// tags.
type Guests struct {
	Cache
	dialect    *contract.Dialect
	links      *resource.Links
	calls      []cachedCall
	parameters []string
	listTags   []string
	baseHash   [32]byte // hash of the settings that all replies depend on
}

// ReplySettings are the settings that cached replies depend on, in addition to the records.
type ReplySettings struct {
	// ReplyCache, unless nil, caches replies to Guests. Fingerprint identifies everything
	// else that replies depend on, such as the store and the configuration: only services
	// with the same fingerprint and [Format] share replies.
	ReplyCache  Cache
	Fingerprint string
	// Links are the settings of the addresses in replies.
	Links resource.LinkSettings
}

// New returns the cache of replies in dialect d, or nil without a ReplyCache. hideSoldOut: lists leave
// out sold-out products (configurations 5).
func New(d *contract.Dialect, settings ReplySettings, hideSoldOut bool) *Guests {
	if settings.ReplyCache == nil {
		return nil
	}
	sum := sha256.New()
	links := &settings.Links
	for _, part := range []string{
		"portico replies " + strconv.Itoa(Format), d.Name, links.PublicURL, links.LinkURL, strconv.FormatBool(links.CodeInLinks), strconv.FormatBool(links.SingleStoreMode),
		links.MediaURL, links.SecureMediaURL, settings.Fingerprint,
	} {
		hashText(sum, part)
	}
	listTags := []string{CatalogTag}
	if hideSoldOut {
		listTags = append(listTags, InStockTag)
	}
	return &Guests{settings.ReplyCache, d, resource.NewLinks(settings.Links), cachedCalls(), cachedParameters(), listTags, [32]byte(sum.Sum(nil))}
}

// Fingerprint returns a hash of everything that the reply to a Guest's request may depend
// on. ok is false for requests whose replies are never cached.
func (g *Guests) Fingerprint(r *http.Request, scheme string) (sum [32]byte, ok bool) {
	const products = contract.Base + "/products"
	path := r.URL.EscapedPath()
	if r.Method != http.MethodGet || len(path) < len(products) || path[:len(products)] != products ||
		len(r.URL.RawQuery) > maxCachedQuery || len(path) > maxCachedQuery || len(r.Header["Authorization"]) > 0 {
		return sum, false
	}
	var scratch [1 << 10]byte
	text := append(scratch[:0], g.baseHash[:]...)
	for _, part := range [...]string{scheme, r.Host, path, r.URL.RawQuery} {
		text = AppendSized(text, part)
	}
	if r.URL.ForceQuery {
		text = append(text, '?')
	}
	if resource.ScriptOf(r) != "" { // which links name
		text = AppendSized(text, resource.CalledURI(r))
	}
	for _, header := range [...]string{"Accept", "Version"} {
		values := r.Header[header]
		text = binary.AppendUvarint(text, uint64(len(values)))
		for _, value := range values {
			text = AppendSized(text, value)
		}
	}
	return sha256.Sum256(text), true
}

// Cacheable returns the index of c among the cached calls. ok is false if its reply is not cached,
// such as the reply of a list without a limit, which may be as long as the catalog.
func (g *Guests) Cacheable(c *resource.Call) (at int, ok bool) {
	if g == nil || !c.IsGuest() || c.Method != contract.GET || len(c.HTTP.URL.RawQuery) > maxCachedQuery {
		return 0, false
	}
	if limit, sent := c.Query.Get("limit"); sent {
		if n, isNumber := codec.ParseNumber(limit.Text); isNumber && n == 0 {
			return 0, false
		}
	}
	name := c.Name()
	at = slices.IndexFunc(g.calls, func(k cachedCall) bool { return k.name == name })
	return at, at >= 0
}

// CacheKey returns a hash of everything in the request that the reply to c depends on. Different
// spellings of the same request have the same key.
func (g *Guests) CacheKey(c *resource.Call, at int) [32]byte {
	call, sum := &g.calls[at], sha256.New()
	sum.Write(g.baseHash[:])
	hashText(sum, call.name)
	hashText(sum, g.links.Base(c))
	hashText(sum, g.links.Media(c, "", ""))
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
		hashText(sum, resource.CalledURI(c.HTTP))
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

func hashText(to hash.Hash, text string) { to.Write(AppendSized(nil, text)) }

// AppendSized appends a text after its length.
func AppendSized(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// Tags returns the tags of the reply to c, the cached call at the given index.
func (g *Guests) Tags(c *resource.Call, at int) []string {
	k := &g.calls[at]
	if !k.byProduct {
		tags := slices.Clone(g.listTags) // callers append to it
		if _, sent := c.Query.Get(storeParameter); sent {
			tags = append(tags, StockTag)
		}
		return tags
	}
	text := c.Param("id")
	if id, ok := codec.ParseID(text); ok && codec.IsCanonicalNumber(text) {
		return []string{ProductTag(id)}
	}
	if k.showsStock { // named by its SKU, so the id is not known yet
		return []string{CatalogTag, StockTag}
	}
	return []string{CatalogTag}
}
