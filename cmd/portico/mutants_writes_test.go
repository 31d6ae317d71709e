package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

// Faults of writes, and what makes them.

// nothing is the reply to a write that has been made.
func nothing() *response {
	return &response{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}}}
}

// swallow says that a write is done and does not make it, where the caller may write
// and there is something to write to.
func swallow(c *call, honest implementation) *response {
	look := asAdmin(c)
	look.method, look.body = http.MethodGet, ""
	if r := honest(look); r.status != http.StatusOK && r.status != http.StatusMethodNotAllowed {
		return honest(c)
	}
	elsewhere := c.clone()
	elsewhere.path = withoutIDs(c.path)
	if r := honest(elsewhere); r.status == http.StatusForbidden || r.status == http.StatusUnauthorized {
		return r
	}
	if c.as != contracttests.Admin {
		look.as = c.as
		if r := honest(look); r.status != http.StatusOK {
			return r
		}
	}
	return nothing()
}

// withoutIDs returns a path that has ids of nothing.
func withoutIDs(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if segment != "" && strings.Trim(segment, "0123456789") == "" {
			segments[i] = "999999999"
		}
	}
	return strings.Join(segments, "/")
}

// undo makes a write and takes it back by another one.
func undo(back func(c *call, r *response) *call) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status < 300 {
			honest(back(c, r))
		}
		return r
	}
}

// restore makes an update and writes back what its fields held before.
func restore(c *call, honest implementation) *response {
	var fields []string
	c.clone().edit(func(root *codec.Node) {
		for i := range root.Members {
			fields = append(fields, root.Members[i].Key)
		}
	})
	return unsaved(fields...)(c, honest)
}

// unsaved makes updates but for some fields, which hold afterwards what they held
// before; what is sent for them is checked all the same.
func unsaved(fields ...string) fault {
	return func(c *call, honest implementation) *response {
		var sent []string
		for _, field := range fields {
			c.clone().edit(func(root *codec.Node) {
				each(root, field, func(*codec.Node, int) { sent = append(sent, field) })
			})
		}
		if len(sent) == 0 {
			return honest(c)
		}
		back := heldBefore(c, honest, sent)
		r := honest(c)
		if r.status == http.StatusOK && back != nil {
			honest(back)
		}
		return r
	}
}

// heldBefore returns the update that has fields hold what they hold, nil when that
// cannot be read.
func heldBefore(c *call, honest implementation, fields []string) *call {
	look := asAdmin(c)
	look.method, look.body = http.MethodGet, ""
	if !strings.Contains(fields[0], ".") {
		look.query = "attrs=" + url.QueryEscape(strings.Join(fields, ","))
	}
	before := honest(look)
	if before.status != http.StatusOK {
		return nil
	}
	back := asAdmin(c)
	before.edit(func(root *codec.Node) {
		kept := root.Members[:0]
		for _, member := range root.Members {
			for _, field := range fields {
				name, inside, nested := strings.Cut(field, ".")
				if name != member.Key {
					continue
				}
				if value, ok := member.Value.Get(inside); nested && ok {
					member.Value = codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: inside, Value: *value}}}
				}
				kept = append(kept, member)
			}
		}
		root.Members = kept
	})
	back.body = before.body
	return back
}

// uncreated makes a thing without some of what is sent for it, once it has been taken
// with all of it.
func uncreated(fields ...string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		sent := false
		c.edit(func(root *codec.Node) {
			for _, field := range fields {
				each(root, field, func(parent *codec.Node, at int) {
					parent.Members, sent = slices.Delete(parent.Members, at, at+1), true
				})
			}
		})
		if !sent || r.status != http.StatusOK || r.header.Get("Location") == "" {
			return r
		}
		again := asAdmin(c)
		again.method, again.path, again.body = http.MethodDelete, strings.TrimPrefix(r.header.Get("Location"), "/api/rest"), ""
		honest(again)
		return honest(c)
	}
}

// asAdmin returns the call in JSON as the Admin would make it.
func asAdmin(c *call) *call {
	made := c.clone()
	made.as = contracttests.Admin
	made.header.Set("Accept", "application/json")
	made.header.Set("Content-Type", "application/json")
	return made
}

// ignore drops fields of what is sent. Of a body that has no others nothing is made.
func ignore(fields ...string) fault {
	return func(c *call, honest implementation) *response {
		left, dropped := 0, false
		c.edit(func(root *codec.Node) {
			for _, field := range fields {
				each(root, field, func(parent *codec.Node, at int) {
					parent.Members, dropped = slices.Delete(parent.Members, at, at+1), true
				})
			}
			left = len(root.Members)
		})
		if dropped && left == 0 {
			return nothing()
		}
		return honest(c)
	}
}

// reset has updates that do not send a field empty it.
func reset(field, json string) fault {
	value := parsed(json)
	return func(c *call, honest implementation) *response {
		r := honest(c)
		sent := false
		if r.status == http.StatusOK && c.edit(func(root *codec.Node) { _, sent = root.Get(field) }) && !sent {
			again := asAdmin(c)
			again.body = "{}"
			again.edit(func(root *codec.Node) { root.Members = []codec.Member{{Key: field, Value: value}} })
			honest(again)
		}
		return r
	}
}

// parsed returns the value of a JSON text of the table.
func parsed(json string) codec.Node {
	n, err := codec.Decode(0, []byte(json))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", json, err))
	}
	return n
}

// lenient takes what is refused with a message, once a value is put in the place of
// the one at fault. Where there are other faults it does not tell of this one.
func lenient(message, field string, value func() codec.Node) fault {
	return pardons(message, func(c *call, honest implementation) *response {
		c.edit(func(root *codec.Node) {
			if _, sent := root.Get(field); !sent && !strings.Contains(field, ".") {
				root.Members = append(root.Members, codec.Member{Key: field})
			}
			each(root, field, func(parent *codec.Node, at int) { parent.Members[at].Value = value() })
		})
		return honest(c)
	})
}

// accepts says that something is done which is refused with a message. Where there are
// other faults it does not tell of this one.
func accepts(message string) fault {
	return pardons(message, func(*call, implementation) *response { return nothing() })
}

// pardons does something else where calls are refused with a message alone.
func pardons(message string, instead fault) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		others, found := 0, false
		for _, e := range entriesOf(r) {
			if strings.Contains(e.message, message) {
				found = true
			} else if !closes(e.message) {
				others++
			}
		}
		switch {
		case !found:
			return r
		case others == 0:
			return instead(c, honest)
		}
		r.edit(func(root *codec.Node) {
			each(root, "messages.error.*", func(parent *codec.Node, at int) {
				if text, ok := parent.Members[at].Value.Get("message"); ok && strings.Contains(text.String(), message) {
					parent.Members = slices.Delete(parent.Members, at, at+1)
					number(parent)
				}
			})
		})
		return r
	}
}

// closes reports whether a message only says that there are others.
func closes(message string) bool {
	return strings.HasPrefix(message, "Resource data pre-validat")
}

// always returns what returns the value of a JSON text.
func always(json string) func() codec.Node {
	value := parsed(json)
	return func() codec.Node { return value }
}

// unheardOf returns what returns another text each time.
func unheardOf(suffix string) func() codec.Node {
	var made atomic.Int64
	return func() codec.Node { return codec.TextNode(fmt.Sprint("mutant-", made.Add(1), suffix)) }
}
