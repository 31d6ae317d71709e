package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// An entity is a kind of record whose values are in EAV tables.
type entity struct {
	part   Part
	code   string // entity_type_code
	table  string // without the prefix
	noun   string // the kind of record that a row belongs to, in reports
	scoped bool   // it has values of store views
}

func productEntity() entity {
	return entity{Products, "catalog_product", "catalog_product_entity", "product", true}
}

func categoryEntity() entity {
	return entity{Categories, "catalog_category", "catalog_category_entity", "category", true}
}

func customerEntity() entity {
	return entity{Customers, "customer", "customer_entity", "customer", false}
}

func addressEntity() entity {
	return entity{Addresses, "customer_address", "customer_address_entity", "address", false}
}

// backendTypes returns the suffixes of the tables that hold EAV values.
func backendTypes() []string { return []string{"varchar", "int", "text", "decimal", "datetime"} }

// ValueTables returns the tables that hold EAV values, without the prefix, and the parts whose
// records these are of.
func ValueTables() map[string]Part {
	tables := map[string]Part{}
	for _, e := range []entity{categoryEntity(), productEntity(), customerEntity(), addressEntity()} {
		for _, kind := range backendTypes() {
			tables[e.table+"_"+kind] = e.part
		}
	}
	return tables
}

// An eavAttribute is an attribute of an entity.
type eavAttribute struct {
	id      int64
	code    string
	backend string // static or one of backendTypes
	table   string // the table of its values if not the usual one; with the prefix
}

// attributesOf returns the attributes of an entity by ascending id.
func attributesOf(ctx context.Context, conn *connection, tx *sql.Tx, code string) (all []eavAttribute, err error) {
	err = conn.Each(ctx, tx, "SELECT a.attribute_id, a.attribute_code, a.backend_type, a.backend_table FROM "+conn.Table("eav_attribute")+" a JOIN "+conn.Table("eav_entity_type")+
		" t ON t.entity_type_id = a.entity_type_id WHERE t.entity_type_code = '"+code+"' ORDER BY a.attribute_id", func(r row) error {
		all = append(all, eavAttribute{id: r.ID(0), code: string(r[1]), backend: string(r[2]), table: string(r[3])})
		return nil
	})
	return all, err
}

// An eavReader reads the EAV values of an entity, which are outside the entity's own table.
type eavReader struct {
	conn *connection
	entity
	attributes []eavAttribute
	sources    []*eavSource // by table
}

// An eavSource is a table of values.
type eavSource struct {
	table    string // with the prefix
	hasStore bool   // its values are of store views
	wanted   map[int64]int
	unwanted []int64 // attributes of the entity that are not wanted
}

// tableNamePattern matches the names of tables that backend_table may hold.
var tableNamePattern = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

// newEAVReader finds the attributes of an entity that are wanted: want returns a number by
// which read names the attribute.
func newEAVReader(ctx context.Context, conn *connection, tx *sql.Tx, e entity, want func(code string) (at int, ok bool)) (*eavReader, error) {
	reader := &eavReader{conn: conn, entity: e}
	var err error
	if reader.attributes, err = attributesOf(ctx, conn, tx, e.code); err != nil {
		return nil, err
	}
	for _, a := range reader.attributes {
		if !slices.Contains(backendTypes(), a.backend) {
			continue // the value is a column
		}
		source, err := reader.source(ctx, tx, a)
		if err != nil {
			return nil, err
		}
		if source == nil {
			continue
		}
		if at, ok := want(a.code); ok {
			source.wanted[a.id] = at
		} else {
			source.unwanted = append(source.unwanted, a.id)
		}
	}
	reader.sources = slices.DeleteFunc(reader.sources, func(s *eavSource) bool { return len(s.wanted) == 0 })
	return reader, nil
}

// static returns the attributes whose values are columns of the entity's own table.
func (e *eavReader) static() (codes []string) {
	for _, a := range e.attributes {
		if a.backend == "static" {
			codes = append(codes, a.code)
		}
	}
	return codes
}

// source returns the table of an attribute's values, or nil if there is none.
func (e *eavReader) source(ctx context.Context, tx *sql.Tx, a eavAttribute) (*eavSource, error) {
	names := []string{e.table + "_" + a.backend}
	if tableNamePattern.MatchString(a.table) {
		names = []string{a.table, strings.TrimPrefix(a.table, e.conn.Prefix)}
	}
	for _, name := range names {
		if at := slices.IndexFunc(e.sources, func(s *eavSource) bool { return s.table == e.conn.Prefix+name }); at >= 0 {
			return e.sources[at], nil
		}
		columns, err := e.conn.ColumnsOf(ctx, tx, name)
		if err != nil {
			return nil, err
		}
		if columns["entity_id"] && columns["attribute_id"] && columns["value"] {
			source := &eavSource{table: e.conn.Prefix + name, hasStore: columns["store_id"], wanted: map[int64]int{}}
			e.sources = append(e.sources, source)
			return source, nil
		}
	}
	e.conn.skip(e.part, "eav_attribute", "attribute "+a.code, ReasonNoTable)
	return nil, nil
}

// from returns the FROM and WHERE clauses that select the rows of a source for the entities
// of a window.
func (s *eavSource) from(w window) string {
	text := " FROM " + quoteName(s.table) + " WHERE " + w.has("entity_id")
	if len(s.unwanted) > 0 {
		text += " AND attribute_id NOT IN (" + joinIDs(s.unwanted) + ")"
	}
	return text
}

// A value is where an EAV value is stored.
type value struct {
	entity, store int64
	at            int // the result of want for the attribute
	attribute     int64
	table         string // without the prefix
	column        sql.RawBytes
}

// read calls f for every value of the entities of a window. Rows of unknown
// attributes are skipped.
func (e *eavReader) read(ctx context.Context, tx *sql.Tx, w window, f func(value)) error {
	for _, s := range e.sources {
		store := "0"
		if s.hasStore {
			store = "store_id"
		}
		table := strings.TrimPrefix(s.table, e.conn.Prefix)
		err := e.conn.Each(ctx, tx, "SELECT entity_id, attribute_id, "+store+", value"+s.from(w), func(r row) error {
			v := value{entity: r.ID(0), attribute: r.ID(1), store: r.ID(2), table: table, column: r[3]}
			var ok bool
			if v.at, ok = s.wanted[v.attribute]; ok {
				f(v)
			} else {
				e.skip(v, ReasonNoAttribute)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// skip notes that a value is in no record.
func (e *eavReader) skip(v value, reason string) {
	attribute := formatID(v.attribute)
	if at := slices.IndexFunc(e.attributes, func(a eavAttribute) bool { return a.id == v.attribute }); at >= 0 {
		attribute = e.attributes[at].code
	}
	e.conn.skip(e.part, v.table, fmt.Sprintf("%s %d, attribute %s, store %d", e.noun, v.entity, attribute, v.store), reason)
}

// valueOf converts a value to one of an attribute of a schema.
func (e *eavReader) valueOf(a *adapter.Attribute, v value) adapter.Value {
	converted, problem := e.conn.valueOf(a.Kind, v.column)
	if problem != "" {
		e.skip(v, problem)
	}
	return converted
}

// joinIDs returns ids separated by commas.
func joinIDs(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = formatID(id)
	}
	return strings.Join(texts, ", ")
}

// wantAttributes returns a function for newEAVReader that wants the attributes of a schema
// that clients may set, and some more.
func wantAttributes(schema *adapter.Schema, more ...string) func(string) (int, bool) {
	wanted := map[string]int{}
	for at, a := range schema.Attributes {
		if (!a.ReadOnly || slices.Contains(more, a.Name)) && a.Kind != adapter.KindRecords && !a.WriteOnly {
			wanted[a.Name] = at
		}
	}
	return func(code string) (int, bool) { at, ok := wanted[code]; return at, ok }
}

// A shopViews holds the store views and websites of a shop.
type shopViews struct {
	websiteOf map[int64]int64   // by store view
	viewsOf   map[int64][]int64 // by website, ascending
}

// readViews reads the store views that exist. The default scope is not among them.
func readViews(ctx context.Context, conn *connection, tx *sql.Tx) (*shopViews, error) {
	v := &shopViews{map[int64]int64{}, map[int64][]int64{}}
	if err := conn.Each(ctx, tx, "SELECT website_id FROM "+conn.Table("core_website")+" WHERE "+between("website_id", 0, maxKey), func(r row) error {
		v.viewsOf[r.ID(0)] = nil
		return nil
	}); err != nil {
		return nil, err
	}
	return v, conn.Each(ctx, tx, "SELECT store_id, website_id FROM "+conn.Table("core_store")+" WHERE "+between("store_id", 0, maxKey)+" ORDER BY store_id", func(r row) error {
		if _, ok := v.viewsOf[r.ID(1)]; ok {
			v.websiteOf[r.ID(0)] = r.ID(1)
			v.viewsOf[r.ID(1)] = append(v.viewsOf[r.ID(1)], r.ID(0))
		}
		return nil
	})
}

// isScope reports whether values can be stored at a store view: it exists or is 0.
func (v *shopViews) isScope(store int64) bool {
	_, ok := v.websiteOf[store]
	return ok || store == 0
}

// An eavBatch is a batch of records with their overrides for store views.
type eavBatch struct {
	aggregates []adapter.Aggregate
	index      map[int64]int // by key
}

// at returns the record that holds the values of an aggregate's record at a scope. It adds the
// scope's record if there is none.
func (b *eavBatch) at(i int, store int64) adapter.Record {
	a := &b.aggregates[i]
	if store == 0 {
		return a.Record
	}
	for _, level := range a.Levels {
		if level.StoreID == store {
			return level.Record
		}
	}
	level := adapter.NewRecord(a.Record.Schema)
	level.Set(level.Schema.Key, a.Record.Get(level.Schema.Key))
	a.Levels = append(a.Levels, adapter.Level{StoreID: store, Record: level})
	return level
}

// sortLevels sorts the scopes of all aggregates by store view.
func (b *eavBatch) sortLevels() {
	for _, a := range b.aggregates {
		slices.SortStableFunc(a.Levels, func(x, y adapter.Level) int { return int(x.StoreID - y.StoreID) })
	}
}

// setValues sets the values of a batch of records, from the rows of a window. views is nil if the
// entity has no values of store views.
func (e *eavReader) setValues(ctx context.Context, tx *sql.Tx, b *eavBatch, views *shopViews, w window) error {
	return e.read(ctx, tx, w, func(v value) {
		i, ok := b.index[v.entity]
		switch {
		case !ok:
			e.skip(v, ReasonNoRecord)
		case views != nil && !views.isScope(v.store), views == nil && v.store != 0:
			e.skip(v, ReasonNoStore)
		default:
			r := b.at(i, v.store)
			r.Values[v.at] = e.valueOf(&r.Schema.Attributes[v.at], v)
		}
	})
}

// An entityReader reads the records of an entity.
type entityReader struct {
	d      *Database
	rows   *tableReader
	values *eavReader
	views  *shopViews // nil if the entity has no values of store views
}

// prepare finds the columns and attributes: the attributes that clients may set, and more.
func (r *entityReader) prepare(ctx context.Context, tx *sql.Tx, e entity, f flatTable, more ...string) (err error) {
	schema := r.d.schemas.Of(f.resource)
	if e.scoped {
		if r.views, err = readViews(ctx, r.d.conn, tx); err != nil {
			return err
		}
	}
	if r.values, err = newEAVReader(ctx, r.d.conn, tx, e, wantAttributes(schema, more...)); err != nil {
		return err
	}
	if err := r.skipUnconfigured(ctx, tx, e, schema); err != nil {
		return err
	}
	r.rows, err = r.d.newTableReader(ctx, tx, f, r.values.static()...)
	return err
}

// next returns the next batch of a window, which is nil if there are no more rows, and up to
// which id it has looked.
func (r *entityReader) next(ctx context.Context, tx *sql.Tx, w window) (*eavBatch, int64, error) {
	records, last, err := r.rows.nextBatch(ctx, tx, w)
	if err != nil {
		return nil, w.after, err
	}
	if last == w.after {
		return nil, w.after, r.values.skipOrphans(ctx, tx, w.after, w.through)
	}
	if r.rows.schema.DistinctNulls { // others need no times
		for _, record := range records {
			r.rows.completeTimes(r.values.noun, record)
		}
	}
	b := &eavBatch{aggregates(records), indexByKey(records)}
	err = r.values.setValues(ctx, tx, b, r.views, w.until(last))
	b.sortLevels()
	return b, last, err
}

// skipOrphans reports the values of entities with ids in (after, through], none of which
// exists.
func (e *eavReader) skipOrphans(ctx context.Context, tx *sql.Tx, after, through int64) error {
	for _, s := range e.sources {
		table := strings.TrimPrefix(s.table, e.conn.Prefix)
		err := e.conn.Each(ctx, tx, "SELECT entity_id, attribute_id FROM "+quoteName(s.table)+" WHERE "+between("entity_id", after, through)+
			" AND attribute_id IN ("+joinIDs(slices.Sorted(maps.Keys(s.wanted)))+") ORDER BY entity_id LIMIT "+formatID(maxOrphans), func(r row) error {
			e.skip(value{entity: r.ID(0), attribute: r.ID(1), table: table}, ReasonNoRecord)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxOrphans bounds the rows of one table that are reported after the last record.
const maxOrphans = 1000

const (
	// maxBatch is the maximum number of records read in one transaction, and firstBatch
	// the number in the first one.
	maxBatch, firstBatch = 500, 100
	// batchBytes is the size of the rows of one transaction above which the next one reads
	// half as many records.
	batchBytes = 8 << 20
)

// A batchReader reads one kind of record in batches.
type batchReader[T any] interface {
	// prepare is called before the first batch. It may be called again.
	prepare(ctx context.Context, tx *sql.Tx) error
	// next returns the next batch of a window, and the greatest id that it has looked at;
	// that is after itself if there are no more rows.
	next(ctx context.Context, tx *sql.Tx, w window) (batch []T, last int64, err error)
}

// A window is a request for records with ids greater than after, up to and including through: the first limit
// ones. endless as through is no bound.
type window struct {
	after, through int64
	limit          int
	ids            []int64 // if not nil, the window has only these ids, and all of them
}

// until returns the window up to an id.
func (w window) until(last int64) window {
	w.through = last
	return w
}

// has returns the SQL condition that the id in a column is in the window.
func (w window) has(column string) string {
	if w.ids != nil {
		return column + " IN (" + joinIDs(w.ids) + ")"
	}
	return between(column, w.after, w.through)
}

const endless = maxKey

// maxKey is the greatest id that a record may have: the greatest integer that JSON numbers hold
// exactly.
const maxKey = 1<<53 - 1

// looked returns up to which id a batch has looked, whose count records end with the id
// last: up to the end of the window if there are no more records in it, so that rows of
// deleted records behind the last one are found.
func (w window) looked(count int, last int64) int64 {
	if w.ids != nil || count < w.limit && w.through != endless {
		return w.through
	}
	return last
}

// between returns the SQL condition that a column is in (after, last].
func between(column string, after, last int64) string {
	return fmt.Sprintf("%s > %d AND %[1]s <= %[3]d", column, after, last)
}

// formatID returns the decimal form of an id.
func formatID(id int64) string { return strconv.FormatInt(id, 10) }
