package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// A Replica is a DB that serves as the local replica of a backend. It serves records as
// Adapter does, and its ID map is the table backend_record, which must be a table as in
// the migrations, not a view.
type Replica struct{ *Adapter }

var _ replica.Replica = (*Replica)(nil)

// Replica returns the database as the local replica of a backend.
func (db *DB) Replica() *Replica { return &Replica{Adapter: db.Adapter()} }

const (
	// mappingsPerStatement is the number of keys or ids that one statement looks up.
	mappingsPerStatement = 128
	// maxVersion is the greatest length of a version, in characters.
	maxVersion = 255
)

// selectMappings lacks its condition.
const selectMappings = "SELECT resource, legacy_id, backend_id, root, owner_id, tag, base, note, changed_at FROM backend_record WHERE "

// selectIntent reads the write intent of one mapping.
const selectIntent = "SELECT note FROM backend_record WHERE resource = ? AND legacy_id = ?"

// deletePair deletes the mapping of a key, if it is to this backend id.
const deletePair = "DELETE FROM backend_record WHERE resource = ? AND legacy_id = ? AND backend_id = ?"

// Statements that store one mapping, with the parameters of mappingArguments. The columns tag
// and note hold the version and the write intent.
const (
	insertMapping = "INSERT INTO backend_record (backend_id, root, owner_id, tag, base, note, changed_at, resource, legacy_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	updateMapping = "UPDATE backend_record SET backend_id = ?, root = ?, owner_id = ?, tag = ?, base = ?, note = ?, changed_at = ? WHERE resource = ? AND legacy_id = ?"
)

// MappingsByKey returns the mappings that exist for these legacy ids, in any order.
// Kinds: Unavailable, Internal.
func (s *Replica) MappingsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]idmap.Mapping, error) {
	wanted := make([]any, len(keys))
	for i, key := range keys {
		wanted[i] = int64(key)
	}
	return s.mappingsBy(ctx, r, "legacy_id", wanted)
}

// MappingsByBackendID returns the mappings that exist for these backend ids, in any
// order. Kinds: Unavailable, Internal.
func (s *Replica) MappingsByBackendID(ctx context.Context, r adapter.Resource, ids []string) ([]idmap.Mapping, error) {
	wanted := make([]any, 0, len(ids))
	for _, id := range ids {
		if id != "" && storable(id, idmap.MaxBackendID) {
			wanted = append(wanted, id)
		}
	}
	return s.mappingsBy(ctx, r, "backend_id", wanted)
}

func (s *Replica) mappingsBy(ctx context.Context, r adapter.Resource, column string, wanted []any) ([]idmap.Mapping, error) {
	var mappings []idmap.Mapping
	for batch := range slices.Chunk(wanted, mappingsPerStatement) {
		batch = padToPowerOfTwo(batch)
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
func (s *Replica) MappingsOfParts(ctx context.Context, root adapter.Resource, owner adapter.Key) ([]idmap.Mapping, error) {
	return s.mappings(ctx, "root = ? AND owner_id = ? ORDER BY resource, legacy_id", string(root), int64(owner))
}

// ListMappings returns up to limit mappings whose key is greater than after, sorted by
// key. Kinds: Unavailable, Internal.
func (s *Replica) ListMappings(ctx context.Context, r adapter.Resource, after adapter.Key, limit int) ([]idmap.Mapping, error) {
	return s.mappings(ctx, "resource = ? AND legacy_id > ? ORDER BY legacy_id LIMIT ?", string(r), int64(after), limit)
}

// MappingsWithIntent returns up to limit mappings, of all resources, that hold a write
// intent and were last stored before the given time, the oldest first. Kinds: Unavailable, Internal.
func (s *Replica) MappingsWithIntent(ctx context.Context, before time.Time, limit int) ([]idmap.Mapping, error) {
	return s.mappings(ctx, "note IS NOT NULL AND changed_at < ? ORDER BY changed_at LIMIT ?", before.UnixMicro(), limit)
}

// mappings returns the mappings that a condition selects.
func (s *Replica) mappings(ctx context.Context, where string, arguments ...any) ([]idmap.Mapping, error) {
	var mappings []idmap.Mapping
	err := eachRow(ctx, s.db.readStatements.query, func(rows *sql.Rows) error {
		m, err := scanMapping(rows)
		mappings = append(mappings, m)
		return err
	}, selectMappings+where, arguments...)
	if err != nil {
		return nil, s.db.wrapError(ctx, "read ID map", err)
	}
	return mappings, nil
}

func scanMapping(rows *sql.Rows) (idmap.Mapping, error) {
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
func (s *Replica) PutMappings(ctx context.Context, mappings ...idmap.Mapping) error {
	_, err := s.putMappingsIf(ctx, func(*sql.Tx) (bool, error) { return true, nil }, mappings)
	return err
}

// CompleteIntent is PutMappings for a root and parts of it, unless the stored mapping of the
// root no longer has the given write intent. It then stores nothing and reports false.
// Kinds: as for PutMappings.
func (s *Replica) CompleteIntent(ctx context.Context, intent []byte, root idmap.Mapping, parts ...idmap.Mapping) (completed bool, err error) {
	return s.putMappingsIf(ctx, func(tx *sql.Tx) (bool, error) {
		var stored []byte
		rows, err := s.db.writeStatements.queryTx(ctx, tx, selectIntent, string(root.Resource), int64(root.Key))
		if err == nil {
			err = scanOne(rows, &stored)
		}
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return bytes.Equal(stored, intent), err
	}, append(slices.Clone(parts), root))
}

// putMappingsIf stores mappings in a transaction that has locked them, if the condition
// holds there, and reports whether it does.
func (s *Replica) putMappingsIf(ctx context.Context, condition func(*sql.Tx) (bool, error), mappings []idmap.Mapping) (holds bool, err error) {
	const op = "put mappings"
	if len(mappings) == 0 {
		return true, nil
	}
	for i := range mappings {
		if err := checkMapping(op, &mappings[i]); err != nil {
			return false, err
		}
	}
	for _, text := range []string{insertMapping, updateMapping, selectIntent, s.lockMappingsSQL(1)} {
		if _, err := s.db.writeStatements.prepare(ctx, text); err != nil {
			return false, s.db.wrapError(ctx, op, err)
		}
	}
	// All writers lock in this order, so that they cannot deadlock.
	mappings = slices.Clone(mappings)
	slices.SortFunc(mappings, func(a, b idmap.Mapping) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Key, b.Key))
	})
	enter := func() error {
		return s.db.writeFenced(ctx, op, s.lease, func(tx *sql.Tx) error {
			stored, err := s.lockStored(ctx, tx, mappings)
			if err != nil {
				return err
			}
			if holds, err = condition(tx); err != nil || !holds {
				return err
			}
			if err := s.putMappings(ctx, tx, mappings, stored); err != nil || s.announcement == nil {
				return err
			}
			return s.noteMapped(ctx, tx, mappings)
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

// putMappings stores mappings, of which some are stored already.
func (s *Replica) putMappings(ctx context.Context, tx *sql.Tx, mappings []idmap.Mapping, stored map[recordID]bool) error {
	moment := time.Now().UnixMicro()
	for i := range mappings {
		m := &mappings[i]
		text := insertMapping
		if stored[recordID{m.Resource, m.Key}] {
			text = updateMapping
		}
		if _, err := s.db.writeStatements.execTx(ctx, tx, text, mappingArguments(m, moment)...); err != nil {
			return err
		}
	}
	return nil
}

// noteMapped notes the roots of mappings that an announced import stores as changed: clients see
// a record only once it has a mapping.
func (s *Replica) noteMapped(ctx context.Context, tx *sql.Tx, mappings []idmap.Mapping) error {
	changed := map[adapter.Resource][]adapter.Key{}
	for _, m := range mappings {
		if m.Root != "" {
			m.Resource, m.Key = m.Root, m.RootKey
		}
		changed[m.Resource] = append(changed[m.Resource], m.Key)
	}
	done := newWriteTx(s.db, tx)
	done.announcement = s.announcement
	return done.Changed(ctx, changed)
}

// A recordID identifies a record of any resource.
type recordID struct {
	resource adapter.Resource
	key      adapter.Key
}

// lockStored locks those mappings that are stored already, and returns their ids.
func (s *Replica) lockStored(ctx context.Context, tx *sql.Tx, mappings []idmap.Mapping) (map[recordID]bool, error) {
	there := map[recordID]bool{}
	for len(mappings) > 0 {
		r := mappings[0].Resource
		arguments := []any{string(r)}
		for len(mappings) > 0 && mappings[0].Resource == r && len(arguments) <= mappingsPerStatement {
			arguments, mappings = append(arguments, int64(mappings[0].Key)), mappings[1:]
		}
		arguments = append(arguments[:1], padToPowerOfTwo(arguments[1:])...)
		keys, err := selectColumn[adapter.Key](ctx, newWriteTx(s.db, tx).query, s.lockMappingsSQL(len(arguments)-1), arguments...)
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
func (s *Replica) lockMappingsSQL(n int) string {
	return "SELECT legacy_id FROM backend_record WHERE resource = ? AND legacy_id" + inPlaceholders(n) + " ORDER BY legacy_id" + s.db.engine.lockClause
}

func mappingArguments(m *idmap.Mapping, moment int64) []any {
	return []any{
		nullIfZero(m.BackendID), nullIfZero(string(m.Root)), nullIfZero(int64(m.RootKey)), m.Version, nullIfZero(string(m.Base)), nullIfZero(string(m.Intent)), moment,
		string(m.Resource), int64(m.Key),
	}
}

// checkMapping refuses mappings that some engine cannot store.
func checkMapping(op string, m *idmap.Mapping) error {
	for _, field := range []struct {
		name, value string
		longest     int
	}{{"backend_id", m.BackendID, idmap.MaxBackendID}, {"version", m.Version, maxVersion}, {"base", string(m.Base), 0}, {"intent", string(m.Intent), 0}} {
		if !storable(field.value, field.longest) {
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: field.name, Err: errText}
		}
	}
	return nil
}

var errText = errors.New("must be valid UTF-8 without zero bytes, and not too long")

// storable reports whether every engine can store a text of at most longest characters;
// 0 means any number.
func storable(text string, longest int) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && (longest == 0 || utf8.RuneCountInString(text) <= longest)
}

// DeleteMapping deletes the mapping of a root and those of its parts, or the mapping of a
// part. It succeeds when there is none. Kinds: Unavailable, Internal.
func (s *Replica) DeleteMapping(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	return s.db.write(ctx, "delete mapping", func(tx *sql.Tx) error { return s.deleteMappings(ctx, tx, r, key) })
}

func (s *Replica) deleteMappings(ctx context.Context, tx *sql.Tx, r adapter.Resource, key adapter.Key) error {
	for _, where := range []string{"resource = ? AND legacy_id = ?", "root = ? AND owner_id = ?"} {
		if _, err := s.db.exec(ctx, tx, "DELETE FROM backend_record WHERE "+where, string(r), int64(key)); err != nil {
			return err
		}
	}
	return nil
}
