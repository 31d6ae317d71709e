package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/portico-commerce/portico/mapping/codec"
)

// Faults of which call is made, by whom, and of what is remembered.

// unheard drops parameters of the query that begin with a name.
func unheard(names ...string) fault {
	return func(c *call, honest implementation) *response {
		c.query = strings.Join(slices.DeleteFunc(strings.Split(c.query, "&"), func(pair string) bool {
			name, err := url.QueryUnescape(pair)
			return err == nil && slices.ContainsFunc(names, func(unheard string) bool {
				rest, found := strings.CutPrefix(name, unheard)
				return found && (rest == "" || rest[0] == '=' || rest[0] == '[')
			})
		}), "&")
		return honest(c)
	}
}

// deafTo drops those parameters where a call is refused for them with text.
func deafTo(text string, names ...string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if strings.Contains(r.body, text) {
			return unheard(names...)(c, honest)
		}
		return r
	}
}

// pathed sends calls to another path.
func pathed(change func(path string) string) fault {
	return func(c *call, honest implementation) *response {
		c.path = change(c.path)
		return honest(c)
	}
}

// storeless takes the store view off a path.
func storeless(path string) string {
	head, _, _ := strings.Cut(path, "/store/")
	return head
}

// as has a call answered as if somebody else made it.
func as(role string) fault {
	return func(c *call, honest implementation) *response {
		c.as = role
		return honest(c)
	}
}

// leaks gives what is refused with a status to whoever asks.
func leaks(refused int, as string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status == refused {
			c.as = as
			return honest(c)
		}
		return r
	}
}

// asked has a call sent with another header, where it has the one named.
func asked(name, from, to string) fault {
	return func(c *call, honest implementation) *response {
		if c.header.Get(name) == from {
			c.header.Set(name, to)
		}
		return honest(c)
	}
}

// stale repeats the first reply to each read.
func stale() fault {
	var mu sync.Mutex
	kept := map[string]*response{}
	return func(c *call, honest implementation) *response {
		r := honest(c)
		key := fmt.Sprint(c.path, c.query, c.as, c.header.Get("Accept"))
		mu.Lock()
		defer mu.Unlock()
		if first, ok := kept[key]; ok {
			return first.clone()
		}
		if r.status == http.StatusOK {
			kept[key] = r.clone()
		}
		return r
	}
}

// writable shows in a record what an update sent for a field that takes none.
func writable(field string) fault {
	var mu sync.Mutex
	sent := map[string]codec.Node{}
	return func(c *call, honest implementation) *response {
		r := honest(c)
		mu.Lock()
		defer mu.Unlock()
		if c.method == http.MethodPut {
			c.edit(func(root *codec.Node) {
				each(root, field, func(parent *codec.Node, at int) {
					if r.status == http.StatusOK {
						sent[c.path] = codec.TextNode(parent.Members[at].Value.String())
					}
				})
			})
			return r
		}
		if value, ok := sent[c.path]; ok && r.status == http.StatusOK {
			r.edit(func(root *codec.Node) {
				each(root, field, func(parent *codec.Node, at int) { parent.Members[at].Value = value })
			})
		}
		return r
	}
}

// sticky shows a flag for ever that was set once.
func sticky(flag string) fault {
	var mu sync.Mutex
	set := map[string]codec.Node{}
	return func(c *call, honest implementation) *response {
		return inResponse(func(root *codec.Node) {
			mu.Lock()
			defer mu.Unlock()
			each(root, flag, func(parent *codec.Node, at int) {
				value := &parent.Members[at].Value
				if kept, ok := set[c.path]; ok {
					*value = kept
				} else if value.String() == "1" {
					set[c.path] = *value
				}
			})
		})(c, honest)
	}
}

// refusal is an error envelope of one entry, in the format the call asks for.
func refusal(c *call, e entry) *response {
	body, mediaType := `{"messages":{"error":[`+fmt.Sprintf(`{"code":%d,"message":%q}`, e.code, e.message)+`]}}`, "application/json; charset=utf-8"
	if strings.Contains(c.header.Get("Accept"), "xml") {
		mediaType = "application/xml; charset=utf-8"
		body = fmt.Sprintf("<?xml version=\"1.0\"?>\n<service_api>\n  <messages>\n    <error>\n      <data_item>\n        <code>%d</code>\n        <message>%s</message>\n"+
			"      </data_item>\n    </error>\n  </messages>\n</service_api>\n", e.code, e.message)
	}
	return &response{e.code, http.Header{"Content-Type": {mediaType}}, body}
}

// denies has a role not do what it may.
func denies(c *call, _ implementation) *response { return refusal(c, entry{403, "Access denied"}) }

// emptyInstead gives an empty list in place of a refusal with a message.
func emptyInstead(message string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if found := entriesOf(r); len(found) > 0 && strings.Contains(found[0].message, message) {
			r.status = http.StatusOK
			r.edit(func(root *codec.Node) { root.Members = nil })
		}
		return r
	}
}
