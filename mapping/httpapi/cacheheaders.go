package httpapi

import (
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping"
)

// setCacheHeaders sets the headers that say whether a reply for Guests came from the cache, and
// how the client may cache it: it must revalidate each time, because a write may have
// invalidated the reply.
func setCacheHeaders(header *headers, r *mapping.Response) {
	switch r.CacheOutcome {
	case "":
		return
	case "hit":
		header.set("X-Cache", "HIT")
	case "stale":
		header.set("X-Cache", "STALE")
		header.set("Age", strconv.FormatInt(int64(r.Age/time.Second), 10))
	default:
		header.set("X-Cache", "MISS")
	}
	if r.EntityTag != "" {
		header.set("Cache-Control", "no-cache")
		header.set("Etag", r.EntityTag)
		header.set("Vary", "Accept, Authorization")
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
