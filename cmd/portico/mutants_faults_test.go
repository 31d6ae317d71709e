package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/codec"
)

// What follows makes faults. Where fields are named, a.b is field b of the record in
// field a, and * stands for every member; in a list each record is meant.

// each does something at every place that a path names in the records below root. It
// goes backwards, so that what it is at may be taken away.
func each(root *codec.Node, path string, do func(parent *codec.Node, at int)) {
	for _, record := range recordsIn(root) {
		eachIn(record, strings.Split(path, "."), do)
	}
}

func eachIn(n *codec.Node, path []string, do func(parent *codec.Node, at int)) {
	for i := len(n.Members) - 1; i >= 0; i-- {
		switch {
		case path[0] != "*" && path[0] != n.Members[i].Key:
		case len(path) == 1:
			do(n, i)
		default:
			eachIn(&n.Members[i].Value, path[1:], do)
		}
	}
}

// recordsIn returns the entries of a list, of any other body the body.
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

func isList(root *codec.Node) bool { return root.Shape() != codec.Named }

// inResponse has an edit done to what a call is answered with, if that is no refusal.
func inResponse(change func(root *codec.Node)) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status < 300 {
			r.edit(change)
		}
		return r
	}
}

// inRefusal has an edit done to an error envelope.
func inRefusal(change func(root *codec.Node)) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status >= 300 {
			r.edit(change)
		}
		return r
	}
}

// onlyIn keeps a fault of replies to those of one format.
func onlyIn(format string, f fault) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if strings.Contains(r.header.Get("Content-Type"), format) {
			return f(c, func(*call) *response { return r })
		}
		return r
	}
}

// drop leaves fields out.
func drop(paths ...string) fault {
	return inResponse(func(root *codec.Node) {
		for _, path := range paths {
			each(root, path, func(parent *codec.Node, at int) { parent.Members = slices.Delete(parent.Members, at, at+1) })
		}
	})
}

// add puts a field beside another one.
func add(beside, name, text string) fault {
	return inResponse(func(root *codec.Node) {
		each(root, beside, func(parent *codec.Node, at int) {
			if _, there := parent.Get(name); !there {
				parent.Members = slices.Insert(parent.Members, at+1, codec.Member{Key: name, Value: codec.TextNode(text)})
			}
		})
	})
}

// rename calls a field otherwise.
func rename(path, name string) fault {
	return inResponse(func(root *codec.Node) {
		each(root, path, func(parent *codec.Node, at int) { parent.Members[at].Key = name })
	})
}

// values changes the values of a field.
func values(path string, change func(codec.Node) codec.Node) fault {
	return inResponse(func(root *codec.Node) {
		each(root, path, func(parent *codec.Node, at int) { parent.Members[at].Value = change(parent.Members[at].Value) })
	})
}

// texts changes the text of a field that has one.
func texts(path string, change func(string) string) fault {
	return values(path, func(n codec.Node) codec.Node {
		if n.Kind == codec.Text || n.Kind == codec.Number {
			n.Text = change(n.Text)
		}
		return n
	})
}

// becomes has a field hold the same always.
func becomes(path string, value codec.Node) fault {
	return values(path, func(codec.Node) codec.Node { return value })
}

// asNumber writes a text of digits as a number, asText a number or literal as a text.
func asNumber(path string) fault {
	return values(path, func(n codec.Node) codec.Node {
		if n.Kind == codec.Text && strings.Trim(n.Text, "0123456789.-") == "" && n.Text != "" {
			return codec.NumberNode(n.Text)
		}
		return n
	})
}

func asText(path string) fault {
	return values(path, func(n codec.Node) codec.Node {
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

// asLiteral writes a flag as true or false.
func asLiteral(path string) fault {
	return values(path, func(n codec.Node) codec.Node {
		if n.String() == "1" {
			return codec.Node{Kind: codec.True}
		}
		return codec.Node{Kind: codec.False}
	})
}

// blankForNull shows a text where there is no value; absentForNull shows nothing.
func blankForNull(path string) fault {
	return values(path, func(n codec.Node) codec.Node {
		if n.Kind == codec.Null {
			return codec.TextNode("")
		}
		return n
	})
}

func absentForNull(path string) fault {
	return inResponse(func(root *codec.Node) {
		each(root, path, func(parent *codec.Node, at int) {
			if n := &parent.Members[at].Value; n.Kind == codec.Null || n.Kind == codec.Text && n.Text == "" {
				parent.Members = slices.Delete(parent.Members, at, at+1)
			}
		})
	})
}

// Texts of other forms.
func twoPlaces(s string) string {
	if head, places, ok := strings.Cut(s, "."); ok && len(places) == 4 {
		return head + "." + places[:2]
	}
	return s
}

func isoDate(s string) string {
	if len(s) == len("2012-01-02 03:04:05") {
		return s[:10] + "T" + s[11:] + "+00:00"
	}
	return s
}

func dayAlone(s string) string { return s[:min(len(s), len("2012-01-02"))] }

// entries changes the entries of the list that a body is.
func entries(change func([]codec.Member) []codec.Member) fault {
	return inResponse(func(root *codec.Node) {
		if isList(root) {
			array := root.Shape() == codec.Array
			if root.Members = change(root.Members); array {
				number(root)
			}
		}
	})
}

func reversed(m []codec.Member) []codec.Member { slices.Reverse(m); return m }
func lastLost(m []codec.Member) []codec.Member { return m[:max(0, len(m)-1)] }
func firstLost(m []codec.Member) []codec.Member {
	return m[min(1, len(m)):]
}
func lastDoubled(m []codec.Member) []codec.Member {
	if len(m) == 0 {
		return m
	}
	doubled := m[len(m)-1]
	doubled.Key += "0" // of one name there would be one member
	return append(m, doubled)
}

// within does to the list in a field what entries does to a body.
func within(path string, change func([]codec.Member) []codec.Member) fault {
	return values(path, func(n codec.Node) codec.Node {
		n.Members = slices.Clone(n.Members)
		n.Members = change(n.Members)
		number(&n)
		return n
	})
}

// asArray makes a list keyed by id one of records alone, keyedBy the other way round.
func asArray() fault { return inResponse(number) }

func keyedBy(field string) fault {
	return inResponse(func(root *codec.Node) {
		for i := range root.Members {
			if id, ok := root.Members[i].Value.Get(field); ok {
				root.Members[i].Key = id.String()
			}
		}
	})
}

// turns gives another status in place of one.
func turns(from, to int) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status == from {
			r.status = to
		}
		return r
	}
}

// bytewise replaces bytes of the body, always in pairs.
func bytewise(pairs ...string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		r.body = strings.NewReplacer(pairs...).Replace(r.body)
		return r
	}
}

// rooted gives XML another root element.
func rooted(name string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		for _, root := range []string{"service_api", "magento_api"} {
			r.body = strings.NewReplacer("<"+root+">", "<"+name+">", "</"+root+">", "</"+name+">", "<"+root+"/>", "<"+name+"/>").Replace(r.body)
		}
		return r
	}
}

// header changes a header of the reply; from is what it is now.
func header(name string, change func(from string) string) fault {
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

// location changes where a thing that was made is said to be.
func location(change func(path string) string) fault {
	return header("Location", func(from string) string {
		if from == "" {
			return ""
		}
		return change(from)
	})
}

func nowhere(string) string         { return "" }
func absolute(path string) string   { return "http://shop.example" + path }
func besides(path string) string    { return path + "0" }
func withSlash(path string) string  { return path + "/" }
func unprefixed(path string) string { return strings.TrimPrefix(path, "/api/rest") }

// answersWith gives a write that succeeded a body it has none of.
func answersWith(json string) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if r.status < 300 && r.body == "" {
			r.body = json
			r.header.Set("Content-Type", "application/json; charset=utf-8")
		}
		return r
	}
}

// An entry is one of an error envelope.
type entry struct {
	code    int
	message string
}

// entriesOf returns the entries of an error envelope.
func entriesOf(r *response) (found []entry) {
	copied := r.clone()
	copied.edit(func(root *codec.Node) {
		each(root, "messages.error.*", func(parent *codec.Node, at int) {
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

// says changes messages of refusals that have a text in them.
func says(instead ...string) fault {
	return inRefusal(func(root *codec.Node) {
		each(root, "messages.error.*.message", func(parent *codec.Node, at int) {
			parent.Members[at].Value.Text = strings.NewReplacer(instead...).Replace(parent.Members[at].Value.Text)
		})
	})
}

// refuses gives other refusals in place of those that consist of one entry.
func refuses(was, is entry) fault {
	return func(c *call, honest implementation) *response {
		r := honest(c)
		if found := entriesOf(r); len(found) != 1 || found[0] != was {
			return r
		}
		r.status = is.code
		r.edit(func(root *codec.Node) {
			each(root, "messages.error.*.code", func(parent *codec.Node, at int) {
				parent.Members[at].Value.Text = strconv.Itoa(is.code)
			})
			each(root, "messages.error.*.message", func(parent *codec.Node, at int) {
				parent.Members[at].Value.Text = is.message
			})
		})
		return r
	}
}

// alone gives but one entry of a refusal that has several.
func alone(keep func([]codec.Member) []codec.Member) fault {
	return inRefusal(func(root *codec.Node) {
		each(root, "messages.error", func(parent *codec.Node, at int) {
			if list := &parent.Members[at].Value; len(list.Members) > 1 {
				list.Members = keep(list.Members)
				number(list)
			}
		})
	})
}
