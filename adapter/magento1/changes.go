package magento1

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A Change names a record of a part whose present state is to be read: it is new, changed or
// gone.
type Change struct {
	Part Part
	Key  adapter.Key // 0: all records of the part
}

// maxSettings bounds the settings in a ChangeSet that are named one by one, and maxLookup the
// ids in a statement that looks up keys.
const maxSettings, maxLookup = 1000, 1000

// A ChangeSet collects what changes of rows mean. Its size is bounded: of a part of which too
// many records have changed it only knows that.
type ChangeSet struct {
	limit       int
	keys        map[Part]map[adapter.Key]struct{} // nil for a part: all records
	ids         map[via]map[int64]struct{}        // ids that lead to keys of viaPart
	viaPart     map[via]Part
	credentials bool
	settings    map[string]struct{}
}

// NewChangeSet returns an empty set that names at most limit records of each part one by one.
func NewChangeSet(limit int) *ChangeSet {
	return &ChangeSet{limit: limit, keys: map[Part]map[adapter.Key]struct{}{}, ids: map[via]map[int64]struct{}{}, viaPart: map[via]Part{}, settings: map[string]struct{}{}}
}

// New returns an empty set with the same limit.
func (s *ChangeSet) New() *ChangeSet { return NewChangeSet(s.limit) }

// Empty reports whether nothing has changed.
func (s *ChangeSet) Empty() bool {
	return len(s.keys) == 0 && len(s.ids) == 0 && !s.credentials && len(s.settings) == 0
}

// Parts returns the parts of which records have changed, in the order of [Parts].
func (s *ChangeSet) Parts() []Part {
	return slices.DeleteFunc(Parts(), func(p Part) bool {
		_, some := s.keys[p]
		return !some && !slices.Contains(slices.Collect(maps.Values(s.viaPart)), p)
	})
}

// Credentials reports whether administrators, consumers or tokens may have changed. The
// password hashes of customers are values of customers.
func (s *ChangeSet) Credentials() bool { return s.credentials }

// Settings returns where something has changed that [Database.Settings] reads, sorted, as
// [Setting].From says it, or only the name of the table.
func (s *ChangeSet) Settings() []string { return slices.Sorted(maps.Keys(s.settings)) }

// AddRow adds what a changed row means. before and after are the values of t.Columns() as
// texts, "" for NULL; before is nil for a new row and after for a deleted one.
func (s *ChangeSet) AddRow(t *Table, before, after []string) {
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

// AddTable adds what it means that any row of a table may have changed or be gone.
func (s *ChangeSet) AddTable(t *Table) {
	s.addAll(t.rows)
	s.addAll(t.deleted)
	s.credentials = s.credentials || t.credentials || t.dropsCredentials
	if t.setting != "" {
		s.addSetting(t.setting)
	}
}

// AddAll adds that anything may have changed.
func (s *ChangeSet) AddAll() {
	for _, t := range tables() {
		s.AddTable(t)
	}
}

// Merge adds everything in other.
func (s *ChangeSet) Merge(other *ChangeSet) {
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
func (s *ChangeSet) Add(c Change) {
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

func (s *ChangeSet) addAll(reached []reach) {
	for _, r := range reached {
		s.Add(Change{Part: r.part})
	}
}

// addID adds the record that a row reaches by an id. Ids that are not positive are of no
// record.
func (s *ChangeSet) addID(r reach, text string) {
	id, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || id <= 0:
	case r.via != nil:
		s.addVia(r.part, *r.via, id)
	default:
		s.Add(Change{r.part, adapter.Key(id)})
	}
}

func (s *ChangeSet) addVia(part Part, through via, id int64) {
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
func (s *ChangeSet) addSetting(setting string) {
	if len(s.settings) >= maxSettings {
		setting, _, _ = strings.Cut(setting, " ")
	}
	s.settings[setting] = struct{}{}
}

// Changes returns the changes of a set by part, in the order of [Parts], and then by key. It
// looks up keys that the rows did not have; records whose rows are gone by now have changes of
// their own. Call [Database.ReadFrom] before.
func (d *Database) Changes(ctx context.Context, s *ChangeSet) ([]Change, error) {
	found := NewChangeSet(s.limit)
	found.Merge(s)
	for through, ids := range s.ids {
		for some := range slices.Chunk(slices.Sorted(maps.Keys(ids)), maxLookup) {
			if err := d.lookUp(ctx, through, some, func(key int64) { found.Add(Change{s.viaPart[through], adapter.Key(key)}) }); err != nil {
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
	order := Parts()
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Part), slices.Index(order, b.Part)), cmp.Compare(a.Key, b.Key))
	})
	return changes, nil
}

// lookUp calls f with each key to which ids lead.
func (d *Database) lookUp(ctx context.Context, through via, ids []int64, f func(key int64)) error {
	return d.conn.retry(ctx, func(tx *sql.Tx) error {
		columns, err := d.conn.columnsOf(ctx, tx, through.table)
		if err != nil || !columns[through.id] {
			return err // the version has no such rows
		}
		key := cmp.Or(through.key, "0")
		statement := "SELECT DISTINCT " + key + " FROM " + d.conn.table(through.table) + " WHERE " + through.id + " IN (" + joinIDs(ids) + ")"
		if through.where != "" {
			statement += " AND " + through.where
		}
		return d.conn.each(ctx, tx, statement, func(r row) error {
			if id := r.id(0); id > 0 || through.key == "" {
				f(id)
			}
			return nil
		})
	})
}

// ColumnNames returns the names of the columns of a table by their place, in lower case, those
// included that a SELECT of all columns leaves out. It returns none for a table that is
// missing. table is without the prefix.
func (d *Database) ColumnNames(ctx context.Context, table string) (names []string, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		names = nil
		rows, err := tx.QueryContext(ctx, "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION", d.conn.prefix+table)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, strings.ToLower(name))
		}
		return rows.Err()
	})
	return names, err
}
