package resource

import (
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A Batch collects the outcomes of a call on many records: a list of successes and a
// list of errors, each entry with the id, a message and a code (wire 11; product_parts
// 3.4). A list without entries is omitted.
type Batch struct {
	IdField string
	// extraMembers follow the id in every entry.
	ExtraMembers []codec.Member
	// successFirst puts the list of successes first, whichever list got its first entry
	// first.
	SuccessFirst bool
	lists        []codec.Member // in the order in which each got its first entry
	// crash, if set, replaces the whole reply.
	Crash *contract.Fault
}

const (
	successList = "success"
	errorList   = "error"
)

// Succeed adds the entry of a saved record; id is the wire form of its key.
func (b *Batch) Succeed(id codec.Node, message contract.Fault) {
	b.add(successList, id, message)
}

// Fail adds one message about a record; id is the value that the client sent.
func (b *Batch) Fail(id codec.Node, fault contract.Fault) {
	if fault.Bare {
		b.Crash = &fault
		return
	}
	b.add(errorList, echo(&id), fault)
}

// Limits on how much of a request an error entry repeats.
const (
	maxEchoBytes = 4096 // as counted by echoSize
	// echoBytesPerLevel is the number of bytes that each level of nesting adds to every
	// value below it: indentation in XML, brackets in form-encoded text.
	echoBytesPerLevel = 4
)

// echo returns the id that an error entry shows: the value as sent (stock_orders 2.4), or
// null if a small request could make it large. A reply repeats the keys and the
// indentation of all outer levels at each value, and an item with many faults repeats its
// id in each entry.
func echo(id *codec.Node) codec.Node {
	if echoSize(id, 0) > maxEchoBytes {
		return codec.Node{}
	}
	return *id
}

// echoSize returns roughly how many bytes n takes in a reply that writes bytesPerValue
// bytes for the outer levels at each value. It stops counting beyond maxEchoBytes.
func echoSize(n *codec.Node, bytesPerValue int) int {
	size := bytesPerValue + len(n.Text)
	for i := 0; i < len(n.Members) && size <= maxEchoBytes; i++ {
		m := &n.Members[i]
		size += echoSize(&m.Value, bytesPerValue+echoBytesPerLevel+len(m.Key))
	}
	return size
}

func (b *Batch) add(name string, id codec.Node, fault contract.Fault) {
	at := -1
	for i := range b.lists {
		if b.lists[i].Key == name {
			at = i
		}
	}
	if at < 0 {
		at = len(b.lists)
		b.lists = append(b.lists, codec.Member{Key: name, Value: codec.Node{Kind: codec.Struct}})
	}
	list := &b.lists[at].Value
	entry := codec.RecordNode(slices.Concat([]codec.Member{{Key: b.IdField, Value: id}}, b.ExtraMembers, []codec.Member{
		{Key: "message", Value: codec.TextNode(fault.Message)},
		{Key: "code", Value: codec.NumberNode(strconv.Itoa(fault.Code))},
	})...)
	list.Members = append(list.Members, codec.Member{Key: strconv.Itoa(len(list.Members)), Value: entry})
}

// Body returns the body of the reply.
func (b *Batch) Body() *codec.Node {
	if b.SuccessFirst && len(b.lists) == 2 && b.lists[0].Key == errorList {
		b.lists[0], b.lists[1] = b.lists[1], b.lists[0]
	}
	return &codec.Node{Kind: codec.Struct, Members: b.lists}
}
