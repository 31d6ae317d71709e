package httpapi

import (
	"github.com/portico-commerce/portico/mapping/resource"
	"strconv"
	"strings"
	"time"
)

// setCacheHeaders sets the cache status header of a reply for Guests and the headers that control
// the client's cache: it must revalidate each time, because a write may have invalidated the reply.
func setCacheHeaders(header *headers, r *resource.Response) {
	value := xCache(r.CacheOutcome)
	if value == "" {
		return
	}
	header.set("X-Cache", value)
	if value == staleReply {
		header.set("Age", strconv.FormatInt(int64(r.Age/time.Second), 10))
	}
	if r.EntityTag != "" {
		header.set("Cache-Control", "no-cache")
		header.set("Etag", r.EntityTag)
		header.set("Vary", "Accept, Authorization")
	}
}

// staleReply is the X-Cache of a reply that is older than it should be.
const staleReply = "STALE"

// xCache returns the value of the header X-Cache, and of the attribute of the log that agrees
// with it, for an outcome of the cache; "" for a reply that is not cached.
func xCache(outcome string) string {
	switch outcome {
	case "":
		return ""
	case "hit":
		return "HIT"
	case "stale":
		return staleReply
	default:
		return "MISS"
	}
}

// matches reports whether tag is among the tags of If-None-Match. It uses the weak
// comparison, as that header requires.
func matches(sent []string, tag string) bool {
	opaque := strings.TrimPrefix(tag, "W/")
	for _, line := range sent {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == opaque {
				return true
			}
		}
	}
	return false
}
