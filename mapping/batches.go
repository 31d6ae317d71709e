package mapping

import (
	"strconv"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A batchReply collects the outcomes of a call on many records: a list of
// successes and a list of errors, each entry with the id, a message and a code
// (wire 11). A list without entries is absent.
type batchReply struct {
	dialect *contract.Dialect
	idField string
	lists   []codec.Member // in the order in which each got its first entry
	// broken, if set, replaces the whole reply.
	broken *contract.Fault
}

const (
	successList = "success"
	errorList   = "error"
)

// succeed adds the entry of a record that was saved.
func (b *batchReply) succeed(id int64, message contract.Fault) {
	b.add(successList, codec.TextNode(strconv.FormatInt(id, 10)), message)
}

// fail adds one message about a record; id is what the client sent for it.
func (b *batchReply) fail(id codec.Node, fault contract.Fault) {
	if fault.Bare {
		b.broken = &fault
		return
	}
	b.add(errorList, id, fault)
}

func (b *batchReply) add(name string, id codec.Node, fault contract.Fault) {
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
	list.Members = append(list.Members, codec.Member{Key: strconv.Itoa(len(list.Members)), Value: record(
		codec.Member{Key: b.idField, Value: id},
		codec.Member{Key: "message", Value: codec.TextNode(fault.Message)},
		codec.Member{Key: "code", Value: codec.NumberNode(strconv.Itoa(fault.Code))},
	)})
}

// body returns the reply's tree.
func (b *batchReply) body() *codec.Node {
	if b.dialect.SuccessFirst && len(b.lists) == 2 && b.lists[0].Key == errorList {
		b.lists[0], b.lists[1] = b.lists[1], b.lists[0]
	}
	return &codec.Node{Kind: codec.Struct, Members: b.lists}
}
