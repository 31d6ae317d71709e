package pipeline

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/mapping/replycache"
	"github.com/portico-commerce/portico/mapping/resource"
)

// serveThroughCache answers c from the cache, filling it if necessary. ok is false if the
// cache has no usable reply.
func (s *Pipeline) serveThroughCache(ctx context.Context, c *Run, at int, buf []byte) (response resource.Response, ok bool) {
	ctx, span := tracing.Start(ctx, tracing.Internal, "reply cache", "")
	defer span.End()
	fingerprint, _ := s.replyCache.Fingerprint(c.HTTP, c.Scheme)
	value, outcome, age, err := s.replyCache.Get(ctx, fingerprint, s.replyCache.CacheKey(&c.Call, at), s.replyCache.Tags(&c.Call, at),
		func(ctx context.Context, generation [16]byte) ([]byte, time.Duration, error) {
			return s.fillReply(resource.WithSharedGeneration(ctx, generation), c, at)
		})
	span.SetString("portico.cache", outcome)
	if err != nil {
		return s.renderError(ctx, c, err, buf), true
	}
	return s.replyCache.Decode(value, outcome, age, buf)
}

// fillReply runs c and returns its encoded reply and for how long that is valid. An error
// means that the backend is unavailable.
func (s *Pipeline) fillReply(ctx context.Context, c *Run, at int) (value []byte, ttl time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.LogPanic(ctx, c, p)
			response := s.renderError(ctx, c, ErrPanicked, nil)
			value, ttl, err = replycache.Encode(&c.Call, at, &response), 0, nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, replycache.FillTimeout)
	defer cancel()
	reply, err := s.handle(ctx, c)
	if err != nil && (adapter.KindOf(err) == adapter.Unavailable || errors.Is(err, context.DeadlineExceeded)) {
		return nil, 0, err
	}
	var response resource.Response
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
		ttl = replycache.NotFoundTTL
	}
	return replycache.Encode(&c.Call, at, &response), ttl, nil
}

// untilPricesChange returns the time until a price in the reply to c changes.
func (s *Pipeline) untilPricesChange(c *Run) time.Duration {
	if c.Expiry == nil || c.Expiry.At == "" {
		return math.MaxInt64
	}
	now := s.settings.Now()
	at, err := time.ParseInLocation(time.DateTime, c.Expiry.At, c.Expiry.Zone)
	if err != nil {
		return 0
	}
	// When clocks go back, the local time occurs twice: take the first.
	if earlier := at.Add(-time.Hour); earlier.Format(time.DateTime) == at.Format(time.DateTime) {
		at = earlier
	}
	return max(at.Sub(now), 0)
}
