package program

import (
	"fmt"
	"github.com/portico-commerce/portico/mapping/codec"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// This file has faults that change a call or its caller, and faults that remember replies.

// ignoreParams removes the query parameters with the given names, and their parts such as
// name[1], before the call is made.
func ignoreParams(names ...string) fault {
	return func(c *call, honest implementation) *response {
		c.query = strings.Join(slices.DeleteFunc(strings.Split(c.query, "&"), func(pair string) bool {
			name, err := url.QueryUnescape(pair)
			return err == nil && slices.ContainsFunc(names, func(ignored string) bool {
				rest, found := strings.CutPrefix(name, ignored)
				return found && (rest == "" || rest[0] == '=' || rest[0] == '[')
			})
		}), "&")
		return honest(c)
	}
}

// ignoreParamsIfRefused repeats a call without the parameters if the reply to it contains
// text.
func ignoreParamsIfRefused(text string, names ...string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if strings.Contains(r.body, text) {
			return ignoreParams(names...)(c, honest)
		}
		return r
	}
}

// rewritePath sends calls to another path.
func rewritePath(change func(path string) string) fault {
	return func(c *call, honest implementation) *response {
		c.path = change(c.path)
		return honest(c)
	}
}

// withoutStoreView removes the store view from a path.
func withoutStoreView(path string) string {
	head, _, _ := strings.Cut(path, "/store/")
	return head
}

// answerAs makes calls as another caller.
func answerAs(role string) fault {
	return func(c *call, honest implementation) *response {
		c.as = role
		return honest(c)
	}
}

// retryRefusedAs repeats a call as another caller if the reply has the status refused.
func retryRefusedAs(refused int, as string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status == refused {
			c.as = as
			return honest(c)
		}
		return r
	}
}

// replaceRequestHeader replaces the request header name if its value is from.
func replaceRequestHeader(name, from, to string) fault {
	return func(c *call, honest implementation) *response {
		if c.header.Get(name) == from {
			c.header.Set(name, to)
		}
		return honest(c)
	}
}

// repeatFirstReply answers each read with the first reply to it.
func repeatFirstReply() fault {
	var mu sync.Mutex
	firstReplies := map[string]*response{}
	return func(c *call, honest implementation) *response {
		r := honest(c)
		key := fmt.Sprint(c.path, c.query, c.as, c.header.Get("Accept"))
		mu.Lock()
		defer mu.Unlock()
		if first, ok := firstReplies[key]; ok {
			return first.clone()
		}
		if r.status == http.StatusOK {
			firstReplies[key] = r.clone()
		}
		return r
	}
}

// echoReadOnlyField shows the value that an update sent for a field although the field is
// read-only.
func echoReadOnlyField(field string) fault {
	var mu sync.Mutex
	sent := map[string]codec.Node{}
	return func(c *call, honest implementation) *response {
		r := honest(c)
		mu.Lock()
		defer mu.Unlock()
		if c.method == http.MethodPut {
			c.edit(func(root *codec.Node) {
				forEachAt(root, field, func(parent *codec.Node, at int) {
					if r.status == http.StatusOK {
						sent[c.path] = codec.TextNode(parent.Members[at].Value.String())
					}
				})
			})
			return r
		}
		if value, ok := sent[c.path]; ok && r.status == http.StatusOK {
			r.edit(func(root *codec.Node) {
				forEachAt(root, field, func(parent *codec.Node, at int) { parent.Members[at].Value = value })
			})
		}
		return r
	}
}

// stickyFlag shows a flag as set for ever after it was set once.
func stickyFlag(flag string) fault {
	var mu sync.Mutex
	set := map[string]codec.Node{}
	return func(c *call, honest implementation) *response {
		return editReply(func(root *codec.Node) {
			mu.Lock()
			defer mu.Unlock()
			forEachAt(root, flag, func(parent *codec.Node, at int) {
				value := &parent.Members[at].Value
				if first, ok := set[c.path]; ok {
					*value = first
				} else if value.String() == "1" {
					set[c.path] = *value
				}
			})
		})(c, honest)
	}
}

// refusal returns an error envelope with one entry, in the format that the call accepts.
func refusal(c *call, e entry) *response {
	body, mediaType := `{"messages":{"error":[`+fmt.Sprintf(`{"code":%d,"message":%q}`, e.code, e.message)+`]}}`, "application/json; charset=utf-8"
	if strings.Contains(c.header.Get("Accept"), "xml") {
		mediaType = "application/xml; charset=utf-8"
		body = fmt.Sprintf("<?xml version=\"1.0\"?>\n<service_api>\n  <messages>\n    <error>\n      <data_item>\n        <code>%d</code>\n        <message>%s</message>\n"+
			"      </data_item>\n    </error>\n  </messages>\n</service_api>\n", e.code, e.message)
	}
	return &response{e.code, http.Header{"Content-Type": {mediaType}}, body}
}

// denyAccess refuses every call.
func denyAccess(c *call, _ implementation) *response { return refusal(c, entry{403, "Access denied"}) }

// emptyListInsteadOf returns an empty list instead of a refusal with the given message.
func emptyListInsteadOf(message string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if found := entriesOf(r); len(found) > 0 && strings.Contains(found[0].message, message) {
			r.status = http.StatusOK
			r.edit(func(root *codec.Node) { root.Members = nil })
		}
		return r
	}
}
