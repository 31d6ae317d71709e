package console

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Cache has the functions behind the page of the cache.
type Cache struct {
	// Contents describes the contents of the cache. It also counts the replies about product,
	// unless that is 0.
	Contents func(product int64) CacheContents
	// Purge removes everything from the cache, PurgeTag the replies with a tag, and PurgeProduct
	// the replies that show a product, on all replicas. An error means that the other replicas
	// follow later.
	Purge        func(context.Context) error
	PurgeTag     func(ctx context.Context, tag string)
	PurgeProduct func(ctx context.Context, id int64)
}

// CacheContents describes the contents of the cache.
type CacheContents struct {
	Off           bool
	Entries       int // replies in memory
	Fresh         int // replies in memory that have not expired
	Bytes, Limit  float64
	TTL, StaleTTL time.Duration
	Redis         bool
	Tags          []TagCount
}

// A TagCount counts the fresh replies with a tag.
type TagCount struct {
	Tag, Meaning string
	Replies      int
}

const cachePath = "/console/cache"

// A cachePage is the data of the page.
type cachePage struct {
	CacheContents
	Product  string // in the form
	Hits     string // share of the last hour
	Breakers []Breaker
}

func (v *visit) showCache() error {
	product := v.r.URL.Query().Get("product")
	id, err := strconv.ParseInt(product, 10, 64)
	if product != "" && (err != nil || id < 1) {
		return Refusal("Give the id of the product as a positive number.")
	}
	p := cachePage{CacheContents: v.Cache.Contents(id), Product: product, Hits: "–", Breakers: v.Breakers()}
	samples := v.history.all()
	if share, ok := ratio(since(samples, time.Hour), samples[len(samples)-1], hitsOf, lookupsOf); ok {
		p.Hits = shareText(share)
	}
	return v.show(http.StatusOK, "cache", "Cache and circuits", p)
}

func (v *visit) purgeAll() error {
	v.audit("purge the cache")
	if err := v.Cache.Purge(v.r.Context()); err != nil {
		v.Log.WarnContext(v.r.Context(), "console", "path", v.r.URL.Path, "error", err)
		return v.redirect(cachePath, "purged-here")
	}
	return v.redirect(cachePath, "purged")
}

// tagPattern matches the tags that replies can have.
var tagPattern = regexp.MustCompile(`^[a-z]+(:[0-9]{1,18})?$`)

func (v *visit) purgeTag() error {
	tag := v.field("tag")
	if !tagPattern.MatchString(tag) {
		return Refusal("That is no tag: give one of those that the page lists, such as product:12.")
	}
	v.audit("purge a tag", "tag", tag)
	v.Cache.PurgeTag(v.r.Context(), tag)
	return v.redirect(cachePath, "purged")
}

func (v *visit) purgeProduct() error {
	id, err := v.id("product")
	if err != nil {
		return err
	}
	v.audit("purge a product", "product", id)
	v.Cache.PurgeProduct(v.r.Context(), id)
	return v.redirect(cachePath, "purged")
}
