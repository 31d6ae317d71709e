package compare

import (
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// numberedItem is the prefix of numbered list elements.
const numberedItem = "data_item_"

// isList reports whether the members of n, a Struct, are list entries: their keys are
// numbers or the names of numbered elements.
func isList(n *codec.Node) bool {
	return !slices.ContainsFunc(n.Members, func(m codec.Member) bool {
		_, err := strconv.ParseUint(strings.TrimPrefix(m.Key, numberedItem), 10, 64)
		return err != nil
	})
}

// lists adds the differences of two lists.
func (d *differ) lists(at scope, a, b *codec.Node) {
	keysA, keysB := keys(at, a, b)
	ofB := places(keysB, func(j int) string { return keysB[j] })
	missing := func(key string, n *codec.Node, inLegacy bool) {
		field, value := at.field, at.value(n)
		if field == "" {
			field, value = "records", new(quote(key))
		}
		difference := Difference{Field: field, Record: at.of(key).record}
		if inLegacy {
			difference.Legacy = value
		} else {
			difference.Candidate = value
		}
		d.add(difference)
	}
	var both []int
	shared := make([]bool, len(b.Members))
	for i, key := range keysA {
		j, ok := ofB[key]
		if !ok {
			missing(key, &a.Members[i].Value, true)
			continue
		}
		both, shared[j] = append(both, j), true
		d.values(at.of(key), &a.Members[i].Value, &b.Members[j].Value)
	}
	for j, key := range keysB {
		if !shared[j] {
			missing(key, &b.Members[j].Value, false)
		}
	}
	found := Difference{Field: at.field, Record: at.record}
	if at.field == "" {
		found.Field = "order"
	}
	d.order(found, both, func(j int) string { return keysB[j] })
}

// maxMatchDepth is the nesting depth of lists up to which entries are matched by content, which
// is expensive. Lists of the contract are at most three deep.
const maxMatchDepth = 6

// keys returns a key for each entry of two lists: the key in the object, the value of an
// identifying field, or else one derived from the content.
func keys(at scope, a, b *codec.Node) (ofA, ofB []string) {
	if a.Shape() == codec.Keyed && b.Shape() == codec.Keyed {
		return memberKeys(a), memberKeys(b)
	}
	names := contract.KeyFields()
	if at.field != "" { // parts of an order; prices have a website, but it may not be unique
		names = []string{"item_id", "address_type"}
	}
	for _, name := range names {
		ofA, okA := identifyingValues(a, name)
		ofB, okB := identifyingValues(b, name)
		if okA && okB {
			return ofA, ofB
		}
	}
	if at.depth < maxMatchDepth {
		return byContent(a, b)
	}
	return numbers(a), numbers(b)
}

func memberKeys(n *codec.Node) []string {
	keys := make([]string, len(n.Members))
	for i := range n.Members {
		keys[i] = n.Members[i].Key
	}
	return keys
}

// numbers returns the positions of the entries of a list, from 1.
func numbers(n *codec.Node) []string {
	keys := make([]string, len(n.Members))
	for i := range keys {
		keys[i] = strconv.Itoa(i + 1)
	}
	return keys
}

// identifyingValues returns the values of a field in all records of a list. ok is false unless they
// are unique.
func identifyingValues(n *codec.Node, name string) (keys []string, ok bool) {
	seen := make(map[string]bool, len(n.Members))
	for i := range n.Members {
		id, found := n.Members[i].Value.Get(name)
		if !found {
			return nil, false
		}
		key := id.String()
		if key == "" || seen[key] {
			return nil, false
		}
		seen[key] = true
		keys = append(keys, key)
	}
	return keys, true
}

// byContent returns keys that are equal for equal entries of the two lists. The n-th entries
// without an equal counterpart get the same key as well.
func byContent(a, b *codec.Node) (ofA, ofB []string) {
	ofA, ofB = numbers(a), numbers(b)
	waiting := map[string][]int{} // unmatched positions in b, by content
	for j := range b.Members {
		content := contentOf(&b.Members[j].Value)
		waiting[content] = append(waiting[content], j)
	}
	var otherA, otherB []int
	for i := range a.Members {
		content := contentOf(&a.Members[i].Value)
		if same := waiting[content]; len(same) > 0 {
			ofB[same[0]], waiting[content] = ofA[i], same[1:]
		} else {
			otherA = append(otherA, i)
		}
	}
	for _, left := range waiting {
		otherB = append(otherB, left...)
	}
	slices.Sort(otherB)
	for n, j := range otherB {
		if n < len(otherA) {
			ofB[j] = ofA[otherA[n]]
		} else {
			ofB[j] = strconv.Itoa(len(a.Members) + n - len(otherA) + 1)
		}
	}
	return ofA, ofB
}

// contentOf returns the content of an entry as a text that does not depend on the order of
// its fields.
func contentOf(n *codec.Node) string {
	sorted := sortedNode(n)
	return string(codec.Append(nil, contract.JSON, "", &sorted, false))
}

// sortedNode returns a copy of n with all members sorted by key.
func sortedNode(n *codec.Node) codec.Node {
	sorted := *n
	sorted.Members = make([]codec.Member, len(n.Members))
	for i := range n.Members {
		sorted.Members[i] = codec.Member{Key: n.Members[i].Key, Value: sortedNode(&n.Members[i].Value)}
	}
	slices.SortFunc(sorted.Members, func(a, b codec.Member) int { return strings.Compare(a.Key, b.Key) })
	return sorted
}
