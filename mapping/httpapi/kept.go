package httpapi

import (
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping"
)

// describeKept tells in header how a reply came about that is kept for Guests, and
// how a client may use it again: it has to ask each time, because a write may have
// ended the reply.
func describeKept(header *headers, r *mapping.Response) {
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

// matches reports whether a client that sent If-None-Match has what tag names.
// Tags are compared weakly, as the header asks for.
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
