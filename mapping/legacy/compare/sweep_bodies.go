package compare

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// An entry is a record of a list.
type entry struct {
	id    int64
	page  int    // on which it was
	key   string // in a list that is keyed by id, else ""
	value codec.Node
}

// decode returns the entries of a list, and reports whether answer is one.
func decode(answer *Answer) (list codec.Node, ok bool) {
	if answer == nil || answer.Status != http.StatusOK {
		return list, false
	}
	format, _, err := codec.ContentType(answer.ContentType)
	if err != nil {
		return list, false
	}
	list, err = codec.Decode(format, answer.Body)
	return list, err == nil && list.Kind == codec.Struct
}

// keyOf returns the key of a member of a list of route's records, or "" if it has none.
func keyOf(route *contract.Route, keyed bool, m *codec.Member) string {
	if field, ok := m.Value.Get(route.KeyField()); ok {
		return field.String()
	}
	if keyed {
		return m.Key
	}
	return ""
}

// entries returns the records of a page of route, sorted by id. It reports false if the
// answer is no list, or if a record has no positive number as its key.
func entries(route *contract.Route, answer *Answer, page int) ([]entry, bool) {
	list, ok := decode(answer)
	if !ok {
		return nil, false
	}
	keyed := list.Shape() == codec.Keyed
	all := make([]entry, len(list.Members))
	for i := range list.Members {
		m := &list.Members[i]
		id, err := strconv.ParseInt(keyOf(route, keyed, m), 10, 64)
		if err != nil || id < 1 {
			return nil, false
		}
		all[i] = entry{id: id, page: page, value: m.Value}
		if keyed {
			all[i].key = m.Key
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	return all, true
}

// sameIDs reports whether two sorted pages have the same records.
func sameIDs(a, b []entry) bool {
	return slices.EqualFunc(a, b, func(a, b entry) bool { return a.id == b.id })
}

// rebuilt returns an answer with some of the entries of lists.
func rebuilt(format contract.Format, some []entry) *Answer {
	list := codec.Node{Kind: codec.Struct}
	for i := range some {
		key := some[i].key
		if key == "" {
			key = strconv.Itoa(i)
		}
		list.Members = append(list.Members, codec.Member{Key: key, Value: some[i].value})
	}
	return &Answer{Status: http.StatusOK, ContentType: format.ContentType(), Body: codec.Append(nil, format, "list", &list, false)}
}

// maxParts bounds the records of a part that are read one by one.
const maxParts = 1000

// plainKey matches the keys that can stand in a path as they are.
var plainKey = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)

// sweepKeys returns at most maxParts keys from a list of route's records. It leaves out keys that
// cannot stand in a path.
func sweepKeys(route *contract.Route, answer *Answer) []string {
	list, ok := decode(answer)
	if !ok {
		return nil
	}
	var all []string
	keyed := list.Shape() == codec.Keyed
	for i := range list.Members {
		if key := keyOf(route, keyed, &list.Members[i]); plainKey.MatchString(key) && len(all) < maxParts {
			all = append(all, key)
		}
	}
	return all
}
