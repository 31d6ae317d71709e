package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCache: the page shows the contents of the cache and the changes of breakers, and each purge
// is logged.
func TestCache(t *testing.T) {
	t.Parallel()
	var done []string
	s := newSite(t, func(o *Options) {
		o.Breakers = func() []Breaker {
			return []Breaker{{Name: "sql", State: "closed", Changes: []BreakerChange{{time.Unix(2, 0), "closed"}, {time.Unix(1, 0), "open"}}}, {Name: "redis", State: "closed"}}
		}
		o.Cache = Cache{
			Contents: func(product int64) CacheContents {
				return CacheContents{Entries: 12, Fresh: 7, Bytes: 2048, Limit: 64 << 20, TTL: time.Minute, Tags: []TagCount{{"catalog", "lists", 5}, {fmt.Sprint("product:", product), "one", 3}}}
			},
			Purge:        func(context.Context) error { done = append(done, "all"); return errors.New("Redis is away") },
			PurgeTag:     func(_ context.Context, tag string) { done = append(done, tag) },
			PurgeProduct: func(_ context.Context, id int64) { done = append(done, fmt.Sprint(id)) },
		}
	})
	page := s.get(cachePath + "?product=9").text
	for _, want := range []string{"<dd>12</dd>", "<dd>7</dd>", "2.0 KiB", "64 MiB", "product:9", "at most 1m, and given for 0s more", "1970-01-01 00:00:01 UTC", "No change since"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if got := s.get(cachePath + "?product=x"); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a product that is no number: %d", got.StatusCode)
	}
	for _, tt := range []struct {
		path   string
		form   url.Values
		status int
		notice string
	}{
		{"/purge", url.Values{}, http.StatusSeeOther, "purged-here"},
		{"/purge-tag", url.Values{"tag": {"product:9"}}, http.StatusSeeOther, "purged"},
		{"/purge-tag", url.Values{"tag": {"a\nb"}}, http.StatusUnprocessableEntity, ""},
		{"/purge-product", url.Values{"product": {"5"}}, http.StatusSeeOther, "purged"},
		{"/purge-product", url.Values{"product": {"0"}}, http.StatusUnprocessableEntity, ""},
	} {
		got := s.submit(cachePath, cachePath+tt.path, tt.form)
		if got.StatusCode != tt.status || tt.notice != "" && got.Header.Get("Location") != cachePath+"?notice="+tt.notice {
			t.Errorf("%s %v: %d to %q", tt.path, tt.form, got.StatusCode, got.Header.Get("Location"))
		}
	}
	if !slices.Equal(done, []string{"all", "product:9", "5"}) || strings.Count(s.log.String(), "msg=audit") != 3 {
		t.Errorf("purged %q; log:\n%s", done, s.log.String())
	}
	if got := s.get(cachePath + "?notice=purged-here"); !strings.Contains(got.text, "other replicas follow") {
		t.Error("no notice")
	}
	if got := s.get(cachePath + "?notice=%3Cb%3Ehacked"); strings.Contains(got.text, "hacked") {
		t.Error("an address makes the page say anything")
	}
}
