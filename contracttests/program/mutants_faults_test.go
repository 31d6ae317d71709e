package program

import (
	"github.com/portico-commerce/portico/mapping/codec"
	"slices"
	"strconv"
	"strings"
)

// This file has the functions that make faults of replies. In the path of a field, a.b is
// field b of the record in field a, and * stands for every member. In a list a path applies
// to each record.

// forEachAt calls do for every member at path in the records of root: do gets the parent
// and the index of the member. It goes backwards, so that do may remove the member. A * in
// path stands for any name.
func forEachAt(root *codec.Node, path string, do func(parent *codec.Node, at int)) {
	for _, record := range recordsIn(root) {
		forEachAtPath(record, strings.Split(path, "."), do)
	}
}

// forEachAtPath is forEachAt for the node n alone.
func forEachAtPath(n *codec.Node, path []string, do func(parent *codec.Node, at int)) {
	for i := len(n.Members) - 1; i >= 0; i-- {
		switch {
		case path[0] != "*" && path[0] != n.Members[i].Key:
		case len(path) == 1:
			do(n, i)
		default:
			forEachAtPath(&n.Members[i].Value, path[1:], do)
		}
	}
}

// recordsIn returns the entries of a list, or the body itself if it is no list.
func recordsIn(root *codec.Node) []*codec.Node {
	if root.Shape() == codec.Named || len(root.Members) == 0 {
		return []*codec.Node{root}
	}
	var found []*codec.Node
	for i := range root.Members {
		found = append(found, &root.Members[i].Value)
	}
	return found
}

// isList reports whether a body is a list: an array, or an object keyed by id.
func isList(root *codec.Node) bool { return root.Shape() != codec.Named }

// editReply changes the body of replies that are no refusals.
func editReply(change func(root *codec.Node)) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status < 300 {
			r.edit(change)
		}
		return r
	}
}

// editRefusal changes the body of refusals.
func editRefusal(change func(root *codec.Node)) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status >= 300 {
			r.edit(change)
		}
		return r
	}
}

// onlyInFormat applies f only to replies whose media type contains format.
func onlyInFormat(format string, f fault) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if strings.Contains(r.header.Get("Content-Type"), format) {
			return f(c, func(*call) *response { return r })
		}
		return r
	}
}

// dropFields removes the fields at paths.
func dropFields(paths ...string) fault {
	return editReply(func(root *codec.Node) {
		for _, path := range paths {
			forEachAt(root, path, func(parent *codec.Node, at int) { parent.Members = slices.Delete(parent.Members, at, at+1) })
		}
	})
}

// addField inserts a field after the field at the path beside.
func addField(beside, name, text string) fault {
	return editReply(func(root *codec.Node) {
		forEachAt(root, beside, func(parent *codec.Node, at int) {
			if _, there := parent.Get(name); !there {
				parent.Members = slices.Insert(parent.Members, at+1, codec.Member{Key: name, Value: codec.TextNode(text)})
			}
		})
	})
}

// renameField renames a field.
func renameField(path, name string) fault {
	return editReply(func(root *codec.Node) {
		forEachAt(root, path, func(parent *codec.Node, at int) { parent.Members[at].Key = name })
	})
}

// mapValues changes the value of a field.
func mapValues(path string, change func(codec.Node) codec.Node) fault {
	return editReply(func(root *codec.Node) {
		forEachAt(root, path, func(parent *codec.Node, at int) { parent.Members[at].Value = change(parent.Members[at].Value) })
	})
}

// mapTexts changes the value of a field if it is a text or a number.
func mapTexts(path string, change func(string) string) fault {
	return mapValues(path, func(n codec.Node) codec.Node {
		if n.Kind == codec.Text || n.Kind == codec.Number {
			n.Text = change(n.Text)
		}
		return n
	})
}

// replaceValue always shows the same value for a field.
func replaceValue(path string, value codec.Node) fault {
	return mapValues(path, func(codec.Node) codec.Node { return value })
}

// textToNumber shows a text of digits as a number.
func textToNumber(path string) fault {
	return mapValues(path, func(n codec.Node) codec.Node {
		if n.Kind == codec.Text && strings.Trim(n.Text, "0123456789.-") == "" && n.Text != "" {
			return codec.NumberNode(n.Text)
		}
		return n
	})
}

// literalToText shows a number or a literal as a text.
func literalToText(path string) fault {
	return mapValues(path, func(n codec.Node) codec.Node {
		switch n.Kind {
		case codec.Number:
			return codec.TextNode(n.Text)
		case codec.True:
			return codec.TextNode("true")
		case codec.False:
			return codec.TextNode("false")
		default:
			return n
		}
	})
}

// flagToBool shows a flag as true or false.
func flagToBool(path string) fault {
	return mapValues(path, func(n codec.Node) codec.Node {
		if n.String() == "1" {
			return codec.Node{Kind: codec.True}
		}
		return codec.Node{Kind: codec.False}
	})
}

// nullToText shows an empty text instead of null.
func nullToText(path string) fault {
	return mapValues(path, func(n codec.Node) codec.Node {
		if n.Kind == codec.Null {
			return codec.TextNode("")
		}
		return n
	})
}

// omitNull leaves a field out if it is null or empty.
func omitNull(path string) fault {
	return editReply(func(root *codec.Node) {
		forEachAt(root, path, func(parent *codec.Node, at int) {
			if n := &parent.Members[at].Value; n.Kind == codec.Null || n.Kind == codec.Text && n.Text == "" {
				parent.Members = slices.Delete(parent.Members, at, at+1)
			}
		})
	})
}

// twoPlaces shortens a decimal with four places to two.
func twoPlaces(s string) string {
	if head, places, ok := strings.Cut(s, "."); ok && len(places) == 4 {
		return head + "." + places[:2]
	}
	return s
}

// isoDate writes a time in the form of ISO 8601.
func isoDate(s string) string {
	if len(s) == len("2012-01-02 03:04:05") {
		return s[:10] + "T" + s[11:] + "+00:00"
	}
	return s
}

// dateOnly removes the time from a date and time.
func dateOnly(s string) string { return s[:min(len(s), len("2012-01-02"))] }

// mapEntries changes the entries of a body that is a list.
func mapEntries(change func([]codec.Member) []codec.Member) fault {
	return editReply(func(root *codec.Node) {
		if isList(root) {
			array := root.Shape() == codec.Array
			if root.Members = change(root.Members); array {
				number(root)
			}
		}
	})
}

// reverse reverses the order of the entries.
func reverse(m []codec.Member) []codec.Member { slices.Reverse(m); return m }

// dropLast removes the last entry.
func dropLast(m []codec.Member) []codec.Member { return m[:max(0, len(m)-1)] }

// dropFirst removes the first entry.
func dropFirst(m []codec.Member) []codec.Member {
	return m[min(1, len(m)):]
}

// repeatLast repeats the last entry under another key.
func repeatLast(m []codec.Member) []codec.Member {
	if len(m) == 0 {
		return m
	}
	doubled := m[len(m)-1]
	doubled.Key += "0" // of one name there would be one member
	return append(m, doubled)
}

// mapFieldEntries changes the entries of a field that is a list.
func mapFieldEntries(path string, change func([]codec.Member) []codec.Member) fault {
	return mapValues(path, func(n codec.Node) codec.Node {
		n.Members = slices.Clone(n.Members)
		n.Members = change(n.Members)
		number(&n)
		return n
	})
}

// toArray turns a list keyed by id into an array.
func toArray() fault { return editReply(number) }

// keyByField turns an array into a list keyed by the given field.
func keyByField(field string) fault {
	return editReply(func(root *codec.Node) {
		for i := range root.Members {
			if id, ok := root.Members[i].Value.Get(field); ok {
				root.Members[i].Key = id.String()
			}
		}
	})
}

// replaceStatus replaces a status.
func replaceStatus(from, to int) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status == from {
			r.status = to
		}
		return r
	}
}

// replaceBytes replaces parts of the body. pairs has old and new texts in turn.
func replaceBytes(pairs ...string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		r.body = strings.NewReplacer(pairs...).Replace(r.body)
		return r
	}
}

// replaceXMLRoot renames the root element of XML.
func replaceXMLRoot(name string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		for _, root := range []string{"service_api", "magento_api"} {
			r.body = strings.NewReplacer("<"+root+">", "<"+name+">", "</"+root+">", "</"+name+">", "<"+root+"/>", "<"+name+"/>").Replace(r.body)
		}
		return r
	}
}

// mapHeader changes a header of the reply. If change returns an empty value, the header is
// removed.
func mapHeader(name string, change func(from string) string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if to := change(r.header.Get(name)); to != "" {
			r.header.Set(name, to)
		} else {
			r.header.Del(name)
		}
		return r
	}
}

// mapLocation changes the header Location.
func mapLocation(change func(path string) string) fault {
	return mapHeader("Location", func(from string) string {
		if from == "" {
			return ""
		}
		return change(from)
	})
}

// removeLocation removes the header Location; see mapLocation.
func removeLocation(string) string { return "" }

// absoluteURL makes a Location absolute.
func absoluteURL(path string) string { return "http://shop.example" + path }

// wrongPath makes a Location name another record.
func wrongPath(path string) string { return path + "0" }

// withSlash appends a slash to a Location.
func withSlash(path string) string { return path + "/" }

// withoutPrefix removes the base of the contract from a Location.
func withoutPrefix(path string) string { return strings.TrimPrefix(path, "/api/rest") }

// addBody gives a successful reply without a body the given one.
func addBody(json string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status < 300 && r.body == "" {
			r.body = json
			r.header.Set("Content-Type", "application/json; charset=utf-8")
		}
		return r
	}
}

// An entry is one entry of an error envelope.
type entry struct {
	code    int
	message string
}

// entriesOf returns the entries of an error envelope in their order.
func entriesOf(r *response) (found []entry) {
	copied := r.clone()
	copied.edit(func(root *codec.Node) {
		forEachAt(root, "messages.error.*", func(parent *codec.Node, at int) {
			code, _ := parent.Members[at].Value.Get("code")
			message, _ := parent.Members[at].Value.Get("message")
			if code == nil || message == nil {
				return
			}
			number, err := strconv.Atoi(code.String())
			if err != nil {
				return
			}
			found = slices.Insert(found, 0, entry{number, message.String()})
		})
	})
	return found
}

// replaceMessageText replaces parts of the messages of refusals. instead has old and new
// texts in turn.
func replaceMessageText(instead ...string) fault {
	return editRefusal(func(root *codec.Node) {
		forEachAt(root, "messages.error.*.message", func(parent *codec.Node, at int) {
			parent.Members[at].Value.Text = strings.NewReplacer(instead...).Replace(parent.Members[at].Value.Text)
		})
	})
}

// replaceRefusal replaces refusals that consist of the entry was alone.
func replaceRefusal(was, is entry) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if found := entriesOf(r); len(found) != 1 || found[0] != was {
			return r
		}
		r.status = is.code
		r.edit(func(root *codec.Node) {
			forEachAt(root, "messages.error.*.code", func(parent *codec.Node, at int) {
				parent.Members[at].Value.Text = strconv.Itoa(is.code)
			})
			forEachAt(root, "messages.error.*.message", func(parent *codec.Node, at int) {
				parent.Members[at].Value.Text = is.message
			})
		})
		return r
	}
}

// filterRefusalEntries reduces the entries of a refusal with several entries to the entries
// that keep returns.
func filterRefusalEntries(keep func([]codec.Member) []codec.Member) fault {
	return editRefusal(func(root *codec.Node) {
		forEachAt(root, "messages.error", func(parent *codec.Node, at int) {
			if list := &parent.Members[at].Value; len(list.Members) > 1 {
				list.Members = keep(list.Members)
				number(list)
			}
		})
	})
}
