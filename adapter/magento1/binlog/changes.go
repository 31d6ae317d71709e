package binlog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// A Change names a record of a part whose present state is to be read: it is new, changed or
// gone.
type Change struct {
	Part magento1.Part
	Key  adapter.Key // 0: all records of the part
}

// maxSettings bounds the settings in a Set that are named one by one, and maxLookup the
// ids in a statement that looks up keys.
const maxSettings, maxLookup = 1000, 1000

// A Set collects the records, credentials and settings that changed rows belong to. Its size is
// bounded: if too many records of a part have changed, it holds the part instead of the records.
type Set struct {
	limit       int
	keys        map[magento1.Part]map[adapter.Key]struct{} // nil for a part: all records
	ids         map[magento1.Via]map[int64]struct{}        // ids that lead to keys of viaPart
	viaPart     map[magento1.Via]magento1.Part
	credentials bool
	settings    map[string]struct{}
}

// NewSet returns an empty set that names at most limit records of each part one by one.
func NewSet(limit int) *Set {
	return &Set{limit: limit, keys: map[magento1.Part]map[adapter.Key]struct{}{}, ids: map[magento1.Via]map[int64]struct{}{}, viaPart: map[magento1.Via]magento1.Part{}, settings: map[string]struct{}{}}
}

// New returns an empty set with the same limit.
func (s *Set) New() *Set { return NewSet(s.limit) }

// Empty reports whether nothing has changed.
func (s *Set) Empty() bool {
	return len(s.keys) == 0 && len(s.ids) == 0 && !s.credentials && len(s.settings) == 0
}

// Parts returns the parts of which records have changed, in the order of [magento1.Parts].
func (s *Set) Parts() []magento1.Part {
	return slices.DeleteFunc(magento1.Parts(), func(p magento1.Part) bool {
		_, some := s.keys[p]
		return !some && !slices.Contains(slices.Collect(maps.Values(s.viaPart)), p)
	})
}

// Credentials reports whether administrators, consumers or tokens may have changed. The
// password hashes of customers are values of customers.
func (s *Set) Credentials() bool { return s.credentials }

// Settings returns where something has changed that [magento1.Database.Settings] reads, sorted, as
// [magento1.Setting].From says it, or only the name of the table.
func (s *Set) Settings() []string { return slices.Sorted(maps.Keys(s.settings)) }

// AddRow marks everything that depends on a changed row as changed. before and after are the values
// of t.Columns() as texts, "" for NULL; before is nil for a new row and after for a deleted one.
func (s *Set) AddRow(t *Table, before, after []string) {
	if !t.counts(before, after) {
		return
	}
	for _, row := range [][]string{before, after} {
		if row == nil {
			continue
		}
		for _, r := range t.rows {
			switch {
			case r.column == "":
				s.Add(Change{Part: r.part})
			case !r.later || before != nil:
				s.addID(r, t.value(row, r.column))
			}
		}
		if t.setting != "" {
			s.addSetting(t.settingOf(row))
		}
	}
	gone := t.isGone(before, after)
	if gone {
		s.addAll(t.deleted)
	}
	s.credentials = s.credentials || t.credentials || gone && t.dropsCredentials
}

// AddTable marks everything that depends on any row of a table as changed, or gone.
func (s *Set) AddTable(t *Table) {
	s.addAll(t.rows)
	s.addAll(t.deleted)
	s.credentials = s.credentials || t.credentials || t.dropsCredentials
	if t.setting != "" {
		s.addSetting(t.setting)
	}
}

// AddAll adds that anything may have changed.
func (s *Set) AddAll() {
	for _, t := range tables() {
		s.AddTable(t)
	}
}

// Merge adds everything in other.
func (s *Set) Merge(other *Set) {
	for part, keys := range other.keys {
		if keys == nil {
			s.Add(Change{Part: part})
		}
		for key := range keys {
			s.Add(Change{part, key})
		}
	}
	for through, ids := range other.ids {
		for id := range ids {
			s.addVia(other.viaPart[through], through, id)
		}
	}
	s.credentials = s.credentials || other.credentials
	for setting := range other.settings {
		s.addSetting(setting)
	}
}

// Add adds a change.
func (s *Set) Add(c Change) {
	keys, some := s.keys[c.Part]
	switch {
	case some && keys == nil:
	case c.Key == 0:
		s.keys[c.Part] = nil
	case !some:
		s.keys[c.Part] = map[adapter.Key]struct{}{c.Key: {}}
	default:
		if keys[c.Key] = struct{}{}; len(keys) > s.limit {
			s.keys[c.Part] = nil
		}
	}
}

func (s *Set) addAll(reached []reach) {
	for _, r := range reached {
		s.Add(Change{Part: r.part})
	}
}

// addID adds the record that a row reaches by an id. Ids that are not positive are of no
// record.
func (s *Set) addID(r reach, text string) {
	id, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || id <= 0:
	case r.via != nil:
		s.addVia(r.part, *r.via, id)
	default:
		s.Add(Change{r.part, adapter.Key(id)})
	}
}

func (s *Set) addVia(part magento1.Part, through magento1.Via, id int64) {
	if keys, some := s.keys[part]; some && keys == nil {
		return // all records of the part are named
	}
	if s.ids[through] == nil {
		s.ids[through], s.viaPart[through] = map[int64]struct{}{}, part
	}
	if s.ids[through][id] = struct{}{}; len(s.ids[through]) > s.limit {
		delete(s.ids, through)
		s.Add(Change{Part: part})
	}
}

// addSetting adds a setting, or if there are too many only the name that it begins with.
func (s *Set) addSetting(setting string) {
	if len(s.settings) >= maxSettings {
		setting, _, _ = strings.Cut(setting, " ")
	}
	s.settings[setting] = struct{}{}
}

// Changes returns the changes of the set by part, in the order of [magento1.Parts], and then by key. It
// looks up keys that the rows did not have; records whose rows are gone by now have changes of
// their own. Call [magento1.Database.ReadFrom] before.
func (s *Set) Changes(ctx context.Context, d *magento1.Database) ([]Change, error) {
	found := NewSet(s.limit)
	found.Merge(s)
	for through, ids := range s.ids {
		for some := range slices.Chunk(slices.Sorted(maps.Keys(ids)), maxLookup) {
			if err := d.LookUp(ctx, through, some, func(key int64) { found.Add(Change{s.viaPart[through], adapter.Key(key)}) }); err != nil {
				return nil, err
			}
		}
	}
	var changes []Change
	for part, keys := range found.keys {
		if keys == nil {
			changes = append(changes, Change{Part: part})
		}
		for key := range keys {
			changes = append(changes, Change{part, key})
		}
	}
	order := magento1.Parts()
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Part), slices.Index(order, b.Part)), cmp.Compare(a.Key, b.Key))
	})
	return changes, nil
}
