package coordination

import (
	"context"
	"database/sql"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// BeginCreate notes a create before it is sent, and returns its id. Kinds: Unavailable, Internal.
func (o Outboxes) BeginCreate(ctx context.Context, c outbox.Create) (id int64, err error) {
	err = o.db.Write(ctx, "note create", func(tx *engine.Tx) error {
		text := "INSERT INTO outbox_create (resource, root, root_key, natural_key, reason, created_ms) VALUES (?, ?, ?, ?, '', ?)"
		if o.db.Engine.UseReturning {
			text += " RETURNING create_id"
		}
		id, err = tx.InsertRow(ctx, text, []any{string(c.Resource), string(c.Root.Resource), int64(c.Root.Key), engine.StorableText(c.NaturalKey, maxReason), time.Now().UnixMilli()})
		return err
	})
	return id, err
}

// EndCreate removes a create whose outcome is known. Kinds: Unavailable, Internal.
func (o Outboxes) EndCreate(ctx context.Context, id int64) error {
	_, err := o.DiscardCreates(ctx, id)
	return err
}

// UnknownCreate notes the reason why the outcome of a create is unknown. Kinds: Unavailable,
// Internal.
func (o Outboxes) UnknownCreate(ctx context.Context, id int64, reason string) error {
	return o.db.Write(ctx, "note unknown create", func(tx *engine.Tx) error {
		_, err := tx.Run(ctx, "UPDATE outbox_create SET reason = ? WHERE create_id = ?", engine.StorableText(reason, maxReason), id)
		return err
	})
}

// DiscardCreates removes creates whose outcome is unknown. It returns the number of removed ones.
// Kinds: Unavailable, Internal.
func (o Outboxes) DiscardCreates(ctx context.Context, ids ...int64) (n int64, err error) {
	err = o.db.Write(ctx, "forget create", func(tx *engine.Tx) error {
		arguments := idArguments(ids)
		result, err := tx.Run(ctx, "DELETE FROM outbox_create WHERE "+engine.InList("create_id", arguments), arguments...)
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
func (o Outboxes) Creates(ctx context.Context, r adapter.Resource, naturalKey string, limit int) (all []outbox.Create, err error) {
	text, arguments := "SELECT create_id, resource, root, root_key, natural_key, reason, created_ms FROM outbox_create", []any{}
	if r != "" {
		text, arguments = text+" WHERE resource = ? AND natural_key = ?", []any{string(r), engine.StorableText(naturalKey, maxReason)}
	}
	from, to := inProgress()
	err = engine.EachRow(ctx, o.db.ReadStatements.Query, func(rows *sql.Rows) error {
		var c outbox.Create
		var created int64
		err := rows.Scan(&c.ID, &c.Resource, &c.Root.Resource, &c.Root.Key, &c.NaturalKey, &c.Reason, &created)
		c.CreatedAt = time.UnixMilli(created).UTC()
		if c.Reason == "" && (created < from || created > to) {
			c.Reason = "the process that has sent it ended before the legacy store replied"
		}
		all = append(all, c)
		return err
	}, text+" ORDER BY create_id LIMIT ?", append(arguments, limit)...)
	return all, o.db.WrapError(ctx, "list creates", err)
}
