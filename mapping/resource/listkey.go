package resource

import (
	"crypto/sha256"
	"encoding/binary"
	"github.com/portico-commerce/portico/adapter"
)

// A listKey identifies a list: a digest of everything that decides which records it holds
// and in which order. Its size does not depend on the client's input.
type listKey [sha256.Size]byte

// listKeyOf returns the key of the list that p selects of the records of r. It ignores
// the page and the attributes on demand and, unless ordered is set, the order.
func listKeyOf(r adapter.Resource, p *adapter.ListParams, ordered bool) listKey {
	var b keyBuilder
	b.text(string(r))
	b.number(p.OwnerID)
	b.number(p.StoreID)
	b.flag(p.WebsiteScope)
	b.flag(p.OverridesOnly)
	b.number(int64(len(p.Filters)))
	for _, filter := range p.Filters {
		b.text(filter.Name)
		b.number(filter.Value)
	}
	b.number(int64(len(p.Query.Where)))
	for _, condition := range p.Query.Where {
		b.number(int64(len(condition.Any)))
		for _, test := range condition.Any {
			b.text(test.Attribute)
			b.number(int64(test.Op))
			b.number(int64(len(test.Operands)))
			for _, operand := range test.Operands {
				b.text(operand)
			}
		}
	}
	b.flag(ordered)
	if ordered {
		b.text(p.Query.OrderBy)
		b.flag(p.Query.Desc)
	}
	return sha256.Sum256(b)
}

// A keyBuilder encodes a sequence of values unambiguously: each one carries its own
// length.
type keyBuilder []byte

func (b *keyBuilder) number(n int64) { *b = binary.AppendVarint(*b, n) }

func (b *keyBuilder) text(s string) {
	b.number(int64(len(s)))
	*b = append(*b, s...)
}

func (b *keyBuilder) flag(is bool) {
	if is {
		b.number(1)
	} else {
		b.number(0)
	}
}
