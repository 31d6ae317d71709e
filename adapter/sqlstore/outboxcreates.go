package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
)

// createTimeout is after which a create without an outcome counts as unknown: the process that
// has sent it no longer waits for the reply.
const createTimeout = 10 * time.Minute

// isUnknownCreate is the condition of creates of which nobody knows the outcome, with the
// argument of beforeTimeout.
const isUnknownCreate = "(reason <> '' OR created_ms < ?)"

// beforeTimeout returns before which a create without an outcome was begun if it counts as
// unknown.
func beforeTimeout() int64 { return time.Now().Add(-createTimeout).UnixMilli() }

// BeginCreate notes a create before it is sent, and returns its id. Kinds: Unavailable, Internal.
func (o Outbox) BeginCreate(ctx context.Context, c outbox.Create) (id int64, err error) {
	err = o.db.write(ctx, "note create", func(tx *sql.Tx) error {
		text := "INSERT INTO outbox_create (resource, root, root_key, natural_key, reason, created_ms) VALUES (?, ?, ?, ?, '', ?)"
		if o.db.engine.useReturning {
			text += " RETURNING create_id"
		}
		id, err = o.db.insertRow(ctx, tx, text, []any{string(c.Resource), string(c.Root.Resource), int64(c.Root.Key), storableText(c.NaturalKey, maxParkReason), time.Now().UnixMilli()})
		return err
	})
	return id, err
}

// EndCreate removes a create of which the outcome is known. Kinds: Unavailable, Internal.
func (o Outbox) EndCreate(ctx context.Context, id int64) error {
	_, err := o.DiscardCreates(ctx, id)
	return err
}

// UnknownCreate notes why the outcome of a create is unknown. Kinds: Unavailable, Internal.
func (o Outbox) UnknownCreate(ctx context.Context, id int64, reason string) error {
	return o.db.write(ctx, "note unknown create", func(tx *sql.Tx) error {
		_, err := o.db.exec(ctx, tx, "UPDATE outbox_create SET reason = ? WHERE create_id = ?", storableText(reason, maxParkReason), id)
		return err
	})
}

// DiscardCreates forgets creates of which nobody knows the outcome. It returns how many there were.
// Kinds: Unavailable, Internal.
func (o Outbox) DiscardCreates(ctx context.Context, ids ...int64) (n int64, err error) {
	err = o.db.write(ctx, "forget create", func(tx *sql.Tx) error {
		arguments := idArguments(ids)
		result, err := o.db.exec(ctx, tx, "DELETE FROM outbox_create WHERE "+inList("create_id", arguments), arguments...)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	return n, err
}

// Creates returns the creates of a resource with a natural key, or, without a resource, all, in
// their order, at most limit. Kinds: Unavailable, Internal.
func (o Outbox) Creates(ctx context.Context, r adapter.Resource, naturalKey string, limit int) (all []outbox.Create, err error) {
	text, arguments := "SELECT create_id, resource, root, root_key, natural_key, reason, created_ms FROM outbox_create", []any{}
	if r != "" {
		text, arguments = text+" WHERE resource = ? AND natural_key = ?", []any{string(r), storableText(naturalKey, maxParkReason)}
	}
	before := beforeTimeout()
	err = eachRow(ctx, o.db.readStatements.query, func(rows *sql.Rows) error {
		var c outbox.Create
		var created int64
		err := rows.Scan(&c.ID, &c.Resource, &c.Root.Resource, &c.Root.Key, &c.NaturalKey, &c.Reason, &created)
		c.CreatedAt = time.UnixMilli(created).UTC()
		if c.Reason == "" && created < before {
			c.Reason = "the process that has sent it ended before the old shop replied"
		}
		all = append(all, c)
		return err
	}, text+" ORDER BY create_id LIMIT ?", append(arguments, limit)...)
	return all, o.db.wrapError(ctx, "list creates", err)
}
