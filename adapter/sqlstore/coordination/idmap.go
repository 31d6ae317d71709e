package coordination

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A IDMap is an ID map, the table backend_record, which must be a table as in the migrations, not a
// view.
type IDMap struct{ db *engine.DB }

// NewIDMap returns the ID map of a database.
func NewIDMap(db *engine.DB) IDMap { return IDMap{db} }

const (
	// mappingsPerStatement is the number of keys or ids that one statement looks up.
	mappingsPerStatement = 128
	// maxVersion is the greatest length of a version, in characters.
	maxVersion = 255
)

// selectMappings lacks its condition.
const selectMappings = "SELECT resource, legacy_id, backend_id, root, owner_id, tag, base, note, changed_at FROM backend_record WHERE "

// selectState reads the write intent and the time of the mapping of a root.
const selectState = "SELECT note, changed_at FROM backend_record WHERE resource = ? AND legacy_id = ?"

// deletePair deletes the mapping of a key if it has this backend id.
const deletePair = "DELETE FROM backend_record WHERE resource = ? AND legacy_id = ? AND backend_id = ?"

// Statements that store one mapping, with the parameters of mappingArguments. The columns tag
// and note hold the version and the write intent.
const (
	insertMapping = "INSERT INTO backend_record (backend_id, root, owner_id, tag, base, note, changed_at, resource, legacy_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	updateMapping = "UPDATE backend_record SET backend_id = ?, root = ?, owner_id = ?, tag = ?, base = ?, note = ?, changed_at = ? WHERE resource = ? AND legacy_id = ?"
)

// MappingsByKey returns the mappings that exist for these legacy ids, in any order.
// Kinds: Unavailable, Internal.
func (s IDMap) MappingsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]idmap.Mapping, error) {
	wanted := make([]any, len(keys))
	for i, key := range keys {
		wanted[i] = int64(key)
	}
	return s.mappingsBy(ctx, r, "legacy_id", wanted)
}

// selectVersions reads the columns of VersionsByKey. It lacks its condition.
const selectVersions = "SELECT legacy_id, backend_id, tag, SUBSTR(base, 1, ?), note FROM backend_record WHERE resource = ? AND legacy_id"

// VersionsByKey is MappingsByKey for comparing versions: a base is cut to its first BaseStart
// bytes, and Root, RootKey and ChangedAt are not set. Kinds: Unavailable, Internal.
func (s IDMap) VersionsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) (mappings []idmap.Mapping, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	scan := func(rows engine.Rows) error {
		m := idmap.Mapping{Resource: r}
		var id sql.NullString
		err := rows.Scan(&m.Key, &id, &m.Version, &m.Base, &m.Intent)
		if _, wanted := slices.BinarySearch(keys, m.Key); wanted {
			m.BackendID = id.String
			mappings = append(mappings, m)
		}
		return err
	}
	// Pages of lists mostly have keys that follow each other: reading a range, including the keys
	// between them, takes half the time of looking up each.
	if first, last := keys[0], keys[len(keys)-1]; int64(last-first) < 2*int64(len(keys)) {
		err = engine.EachRow(ctx, s.db.ReadStatements.Query, scan, selectVersions+" BETWEEN ? AND ?", idmap.BaseStart, string(r), int64(first), int64(last))
		return mappings, s.db.WrapError(ctx, "read ID map", err)
	}
	for chunk := range slices.Chunk(keys, mappingsPerStatement) {
		wanted := engine.KeyArguments(chunk)
		err = engine.EachRow(ctx, s.db.ReadStatements.Query, scan, selectVersions+inPlaceholders(len(wanted)), append([]any{idmap.BaseStart, string(r)}, wanted...)...)
		if err != nil {
			break
		}
	}
	return mappings, s.db.WrapError(ctx, "read ID map", err)
}

// MappingsByBackendID returns the mappings that exist for these backend ids, in any
// order. Kinds: Unavailable, Internal.
func (s IDMap) MappingsByBackendID(ctx context.Context, r adapter.Resource, ids []string) ([]idmap.Mapping, error) {
	wanted := make([]any, 0, len(ids))
	for _, id := range ids {
		if id != "" && engine.Storable(id, idmap.MaxBackendID) {
			wanted = append(wanted, id)
		}
	}
	return s.mappingsBy(ctx, r, "backend_id", wanted)
}

func (s IDMap) mappingsBy(ctx context.Context, r adapter.Resource, column string, wanted []any) ([]idmap.Mapping, error) {
	var mappings []idmap.Mapping
	for batch := range slices.Chunk(wanted, mappingsPerStatement) {
		batch = engine.PadToPowerOfTwo(batch)
		some, err := s.mappings(ctx, "resource = ? AND "+column+inPlaceholders(len(batch)), append([]any{string(r)}, batch...)...)
		if err != nil {
			return nil, err
		}
		mappings = append(mappings, some...)
	}
	return mappings, nil
}

// inPlaceholders returns the end of a condition that a column has one of n values.
func inPlaceholders(n int) string { return " IN (?" + strings.Repeat(", ?", n-1) + ")" }

// MappingsOfParts returns the mappings of the parts of a root, of all resources, sorted
// by resource and key. Kinds: Unavailable, Internal.
func (s IDMap) MappingsOfParts(ctx context.Context, root adapter.Resource, owner adapter.Key) ([]idmap.Mapping, error) {
	return s.mappings(ctx, "root = ? AND owner_id = ? ORDER BY resource, legacy_id", string(root), int64(owner))
}

// ListMappings returns up to limit mappings whose key is greater than after, sorted by
// key. Kinds: Unavailable, Internal.
func (s IDMap) ListMappings(ctx context.Context, r adapter.Resource, after adapter.Key, limit int) ([]idmap.Mapping, error) {
	return s.mappings(ctx, "resource = ? AND legacy_id > ? ORDER BY legacy_id LIMIT ?", string(r), int64(after), limit)
}

// MappingsWithIntent returns up to limit mappings, of all resources, that hold a write
// intent, the oldest first. Kinds: Unavailable, Internal.
func (s IDMap) MappingsWithIntent(ctx context.Context, limit int) ([]idmap.Mapping, error) {
	return s.mappings(ctx, "note IS NOT NULL ORDER BY changed_at LIMIT ?", limit)
}

// mappings returns the mappings that a condition selects.
func (s IDMap) mappings(ctx context.Context, where string, arguments ...any) ([]idmap.Mapping, error) {
	mappings, err := engine.CollectRows(ctx, s.db.ReadStatements.Query, scanMapping, selectMappings+where, arguments...)
	return mappings, s.db.WrapError(ctx, "read ID map", err)
}

func scanMapping(rows engine.Rows) (idmap.Mapping, error) {
	var m idmap.Mapping
	var id, root sql.NullString
	var owner sql.NullInt64
	var changed int64
	if err := rows.Scan(&m.Resource, &m.Key, &id, &root, &owner, &m.Version, &m.Base, &m.Intent, &changed); err != nil {
		return m, err
	}
	m.BackendID, m.Root, m.RootKey = id.String, adapter.Resource(root.String), adapter.Key(owner.Int64)
	m.ChangedAt = time.UnixMicro(changed).UTC()
	return m, nil
}

// PutMappings inserts or replaces mappings, by resource and key, all of them or none.
// Kinds: Conflict when another key already has the backend id, Invalid for an id of more
// than 255 characters, Unavailable, Internal.
func (s IDMap) PutMappings(ctx context.Context, mappings ...idmap.Mapping) error {
	_, err := s.putMappingsIf(ctx, func(*engine.Tx) (bool, error) { return true, nil }, mappings)
	return err
}

// CompleteIntent is PutMappings for a root and parts of it, unless the stored mapping of the
// root no longer has the given write intent. It then stores nothing and reports false.
// Kinds: as for PutMappings.
func (s IDMap) CompleteIntent(ctx context.Context, intent []byte, root idmap.Mapping, parts ...idmap.Mapping) (completed bool, err error) {
	return s.putMappingsIf(ctx, func(tx *engine.Tx) (bool, error) {
		stored, err := state(ctx, tx, root)
		return stored != nil && bytes.Equal(stored.Intent, intent), err
	}, append(slices.Clone(parts), root))
}

// BeginIntent is PutMappings for a root with a write intent, unless the stored mapping has an intent,
// or was stored again since root was read. It then stores nothing and reports false. Kinds: as for
// PutMappings.
func (s IDMap) BeginIntent(ctx context.Context, root idmap.Mapping) (begun bool, err error) {
	return s.putMappingsIf(ctx, func(tx *engine.Tx) (bool, error) {
		stored, err := state(ctx, tx, root)
		if stored == nil {
			return root.ChangedAt.IsZero(), err
		}
		return stored.Intent == nil && stored.ChangedAt.Equal(root.ChangedAt), err
	}, []idmap.Mapping{root})
}

// Touch changes the time of a mapping, so that BeginIntent refuses a mapping that was read before. It
// changes nothing and reports false if the mapping has an intent or does not exist.
func (s IDMap) Touch(ctx context.Context, tx *engine.Tx, r adapter.Resource, key adapter.Key) (idle bool, err error) {
	n, err := tx.Affect(ctx, "UPDATE backend_record SET changed_at = changed_at + 1 WHERE resource = ? AND legacy_id = ? AND note IS NULL", string(r), int64(key))
	return n > 0, err
}

// state returns the intent and the time of a stored mapping; nil if there is none.
func state(ctx context.Context, tx *engine.Tx, of idmap.Mapping) (*idmap.Mapping, error) {
	var stored idmap.Mapping
	var changed int64
	err := engine.First(tx.Query(ctx, selectState, string(of.Resource), int64(of.Key))).Scan(&stored.Intent, &changed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	stored.ChangedAt = time.UnixMicro(changed)
	return &stored, err
}

// putMappingsIf stores mappings in a transaction that has locked them, if the condition
// holds there, and reports whether it does.
func (s IDMap) putMappingsIf(ctx context.Context, condition func(*engine.Tx) (bool, error), mappings []idmap.Mapping) (holds bool, err error) {
	const op = "put mappings"
	if len(mappings) == 0 {
		return true, nil
	}
	for i := range mappings {
		if err := CheckMapping(op, &mappings[i]); err != nil {
			return false, err
		}
	}
	for _, text := range []string{insertMapping, updateMapping, selectState, s.lockMappingsSQL(1)} {
		if _, err := s.db.WriteStatements.Prepare(ctx, text); err != nil {
			return false, s.db.WrapError(ctx, op, err)
		}
	}
	// All writers lock in this order, so that they cannot deadlock.
	mappings = slices.Clone(mappings)
	slices.SortFunc(mappings, func(a, b idmap.Mapping) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Key, b.Key))
	})
	enter := func() error {
		return s.db.Write(ctx, op, func(tx *engine.Tx) error {
			stored, err := s.lockStored(ctx, tx, mappings)
			if err != nil {
				return err
			}
			if holds, err = condition(tx); err != nil || !holds {
				return err
			}
			return s.putMappings(ctx, tx, mappings, stored)
		})
	}
	err = enter()
	if adapter.KindOf(err) == adapter.Conflict {
		// Another transaction may have inserted the mapping of the same key meanwhile. A
		// second attempt finds and replaces it.
		err = enter()
	}
	return holds, err
}

// PutImported stores the mapping of a record that is imported in a transaction. given reports whether
// the record came with its key: then a mapping of the key to the same backend id is replaced.
func (s IDMap) PutImported(ctx context.Context, tx *engine.Tx, m *idmap.Mapping, given bool) error {
	if given {
		if err := tx.Exec(ctx, deletePair, string(m.Resource), int64(m.Key), m.BackendID); err != nil {
			return err
		}
	}
	return tx.Exec(ctx, insertMapping, mappingArguments(m, time.Now().UnixMicro())...)
}

// putMappings stores mappings, some of which are stored already.
func (s IDMap) putMappings(ctx context.Context, tx *engine.Tx, mappings []idmap.Mapping, stored map[recordID]bool) error {
	moment := time.Now().UnixMicro()
	for i := range mappings {
		m := &mappings[i]
		text := insertMapping
		if stored[recordID{m.Resource, m.Key}] {
			text = updateMapping
		}
		if err := tx.Exec(ctx, text, mappingArguments(m, moment)...); err != nil {
			return err
		}
	}
	return nil
}

// A recordID identifies a record of any resource.
type recordID struct {
	resource adapter.Resource
	key      adapter.Key
}

// lockStored locks the mappings that are stored already, and returns their ids.
func (s IDMap) lockStored(ctx context.Context, tx *engine.Tx, mappings []idmap.Mapping) (map[recordID]bool, error) {
	there := map[recordID]bool{}
	for len(mappings) > 0 {
		r := mappings[0].Resource
		arguments := []any{string(r)}
		for len(mappings) > 0 && mappings[0].Resource == r && len(arguments) <= mappingsPerStatement {
			arguments, mappings = append(arguments, int64(mappings[0].Key)), mappings[1:]
		}
		arguments = append(arguments[:1], engine.PadToPowerOfTwo(arguments[1:])...)
		keys, err := engine.SelectColumn[adapter.Key](ctx, tx.Query, s.lockMappingsSQL(len(arguments)-1), arguments...)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			there[recordID{r, key}] = true
		}
	}
	return there, nil
}

// lockMappingsSQL returns the statement that locks the mappings of n keys of a resource.
func (s IDMap) lockMappingsSQL(n int) string {
	return "SELECT legacy_id FROM backend_record WHERE resource = ? AND legacy_id" + inPlaceholders(n) + " ORDER BY legacy_id" + s.db.Engine.LockClause
}

func mappingArguments(m *idmap.Mapping, moment int64) []any {
	return []any{
		engine.NullIfZero(m.BackendID), engine.NullIfZero(string(m.Root)), engine.NullIfZero(int64(m.RootKey)), m.Version, engine.NullIfZero(string(m.Base)), engine.NullIfZero(string(m.Intent)), moment,
		string(m.Resource), int64(m.Key),
	}
}

// CheckMapping refuses mappings that some engine cannot store.
func CheckMapping(op string, m *idmap.Mapping) error {
	for _, field := range []struct {
		name, value string
		longest     int
	}{{"backend_id", m.BackendID, idmap.MaxBackendID}, {"version", m.Version, maxVersion}, {"base", string(m.Base), 0}, {"intent", string(m.Intent), 0}} {
		if !engine.Storable(field.value, field.longest) {
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: field.name, Err: errText}
		}
	}
	return nil
}

var errText = errors.New("must be valid UTF-8 without zero bytes, and not too long")

// DeleteMapping deletes the mapping of a root and the mappings of its parts, or the mapping of a
// part. It succeeds when there is none. Kinds: Unavailable, Internal.
func (s IDMap) DeleteMapping(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	return s.db.Write(ctx, "delete mapping", func(tx *engine.Tx) error { return s.DeleteMappings(ctx, tx, r, key) })
}

// DeleteMappings is DeleteMapping within a transaction.
func (s IDMap) DeleteMappings(ctx context.Context, tx *engine.Tx, r adapter.Resource, key adapter.Key) error {
	for _, where := range []string{"resource = ? AND legacy_id = ?", "root = ? AND owner_id = ?"} {
		if _, err := tx.Run(ctx, "DELETE FROM backend_record WHERE "+where, string(r), int64(key)); err != nil {
			return err
		}
	}
	return nil
}
