package program

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

// This file has faults of writes, and the functions that make them.

// emptyReply returns the reply to a successful write.
func emptyReply() *response {
	return &response{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}}}
}

// skipWrite reports success for a write without making it, if the caller may write and the
// record exists.
func skipWrite(c *call, honest implementation) *response {
	read := asAdmin(c)
	read.method, read.body = http.MethodGet, ""
	if r := honest(read); r.status != http.StatusOK && r.status != http.StatusMethodNotAllowed {
		return honest(c)
	}
	elsewhere := c.clone()
	elsewhere.path = withUnknownIDs(c.path)
	if r := honest(elsewhere); r.status == http.StatusForbidden || r.status == http.StatusUnauthorized {
		return r
	}
	if c.as != contracttests.Admin {
		read.as = c.as
		if r := honest(read); r.status != http.StatusOK {
			return r
		}
	}
	return emptyReply()
}

// withUnknownIDs replaces the ids in a path by one that no record has.
func withUnknownIDs(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if segment != "" && strings.Trim(segment, "0123456789") == "" {
			segments[i] = "999999999"
		}
	}
	return strings.Join(segments, "/")
}

// undoWrite makes a write and then the call that reverts it.
func undoWrite(back func(c *call, r *response) *call) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status < 300 {
			honest(back(c, r))
		}
		return r
	}
}

// revertUpdate makes an update and then restores the previous values of its fields.
func revertUpdate(c *call, honest implementation) *response {
	var fields []string
	c.clone().edit(func(root *codec.Node) {
		for i := range root.Members {
			fields = append(fields, root.Members[i].Key)
		}
	})
	return revertFields(fields...)(c, honest)
}

// revertFields makes an update and then restores the previous values of the given fields.
// The new values are validated nevertheless.
func revertFields(fields ...string) fault {
	return func(c *call, honest implementation) *response {
		var sent []string
		for _, field := range fields {
			c.clone().edit(func(root *codec.Node) {
				forEachAt(root, field, func(*codec.Node, int) { sent = append(sent, field) })
			})
		}
		if len(sent) == 0 {
			return honest(c)
		}
		back := updateToCurrent(c, honest, sent)
		r := honest(c)
		if r.status == http.StatusOK && back != nil {
			honest(back)
		}
		return r
	}
}

// updateToCurrent returns an update that sets fields to their current values, or nil if
// these cannot be read.
func updateToCurrent(c *call, honest implementation, fields []string) *call {
	read := asAdmin(c)
	read.method, read.body = http.MethodGet, ""
	if !strings.Contains(fields[0], ".") {
		read.query = "attrs=" + url.QueryEscape(strings.Join(fields, ","))
	}
	before := honest(read)
	if before.status != http.StatusOK {
		return nil
	}
	back := asAdmin(c)
	before.edit(func(root *codec.Node) {
		wanted := root.Members[:0]
		for _, member := range root.Members {
			for _, field := range fields {
				name, inside, nested := strings.Cut(field, ".")
				if name != member.Key {
					continue
				}
				if value, ok := member.Value.Get(inside); nested && ok {
					member.Value = codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: inside, Value: *value}}}
				}
				wanted = append(wanted, member)
			}
		}
		root.Members = wanted
	})
	back.body = before.body
	return back
}

// createWithout creates a record with all sent fields, to validate them, then replaces it
// by one created without the given fields.
func createWithout(fields ...string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		sent := false
		c.edit(func(root *codec.Node) {
			for _, field := range fields {
				forEachAt(root, field, func(parent *codec.Node, at int) {
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

// asAdmin returns the call as the Admin makes it in JSON.
func asAdmin(c *call) *call {
	made := c.clone()
	made.as = contracttests.Admin
	made.header.Set("Accept", "application/json")
	made.header.Set("Content-Type", "application/json")
	return made
}

// dropSentFields removes fields from the body of a write. It reports success if nothing is
// left to send.
func dropSentFields(fields ...string) fault {
	return func(c *call, honest implementation) *response {
		left, dropped := 0, false
		c.edit(func(root *codec.Node) {
			for _, field := range fields {
				forEachAt(root, field, func(parent *codec.Node, at int) {
					parent.Members, dropped = slices.Delete(parent.Members, at, at+1), true
				})
			}
			left = len(root.Members)
		})
		if dropped && left == 0 {
			return emptyReply()
		}
		return honest(c)
	}
}

// resetUnsentField sets field to the given value if an update does not send it.
func resetUnsentField(field, json string) fault {
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

// parsed returns the value of a JSON text. It panics if the text is invalid.
func parsed(json string) codec.Node {
	n, err := codec.Decode(0, []byte(json))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", json, err))
	}
	return n
}

// acceptInvalid accepts calls that are refused with message, after replacing the invalid
// value of field. If a call is refused for other reasons, too, the refusal lacks this
// message.
func acceptInvalid(message, field string, value func() codec.Node) fault {
	return insteadOfRefusal(message, func(c *call, honest implementation) *response {
		c.edit(func(root *codec.Node) {
			if _, sent := root.Get(field); !sent && !strings.Contains(field, ".") {
				root.Members = append(root.Members, codec.Member{Key: field})
			}
			forEachAt(root, field, func(parent *codec.Node, at int) { parent.Members[at].Value = value() })
		})
		return honest(c)
	})
}

// pretendSuccess reports success for calls that are refused with message. If a call is
// refused for other reasons, too, the refusal lacks this message.
func pretendSuccess(message string) fault {
	return insteadOfRefusal(message, func(*call, implementation) *response { return emptyReply() })
}

// insteadOfRefusal applies instead to calls that are refused with message alone. If there
// are other reasons, it removes the message from the refusal.
func insteadOfRefusal(message string, instead fault) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		others, found := 0, false
		for _, e := range entriesOf(r) {
			if strings.Contains(e.message, message) {
				found = true
			} else if !isSummaryMessage(e.message) {
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
			forEachAt(root, "messages.error.*", func(parent *codec.Node, at int) {
				if text, ok := parent.Members[at].Value.Get("message"); ok && strings.Contains(text.String(), message) {
					parent.Members = slices.Delete(parent.Members, at, at+1)
					number(parent)
				}
			})
		})
		return r
	}
}

// isSummaryMessage reports whether a message only announces other messages.
func isSummaryMessage(message string) bool {
	return strings.HasPrefix(message, "Resource data pre-validat")
}

// constantNode returns a function that returns the value of a JSON text.
func constantNode(json string) func() codec.Node {
	value := parsed(json)
	return func() codec.Node { return value }
}

// uniqueText returns a function that returns a new text with the given suffix each time.
func uniqueText(suffix string) func() codec.Node {
	var made atomic.Int64
	return func() codec.Node { return codec.TextNode(fmt.Sprint("mutant-", made.Add(1), suffix)) }
}
