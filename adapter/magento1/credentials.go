package magento1

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// Admins yields the administrators by ascending id.
func (d *Database) Admins(ctx context.Context) iter.Seq2[adapter.Admin, error] {
	return stream[adapter.Admin](ctx, d, &listed[adapter.Admin]{
		d: d, table: "admin_user", key: "user_id", columns: []string{"username", "password", "is_active"},
		read: func(id int64, columns []sql.NullString) adapter.Admin {
			return adapter.Admin{ID: id, Username: storable(columns[0].String), PasswordHash: columns[1].String, Disabled: columns[2].String == "0"}
		},
	})
}

// Consumers yields the OAuth consumers by ascending id.
func (d *Database) Consumers(ctx context.Context) iter.Seq2[adapter.Consumer, error] {
	return stream[adapter.Consumer](ctx, d, &listed[adapter.Consumer]{
		d: d, table: "oauth_consumer", key: "entity_id", columns: []string{"name", "key", "secret", "callback_url", "rejected_callback_url"},
		read: func(id int64, columns []sql.NullString) adapter.Consumer {
			return adapter.Consumer{ID: id, Name: storable(columns[0].String), Key: columns[1].String, Secret: columns[2].String,
				Callback: storable(columns[3].String), RejectedCallback: storable(columns[4].String)}
		},
	})
}

// Tokens yields the OAuth tokens by ascending id, of both types and revoked ones too.
// ConsumerID, AdminID and CustomerID are ids of the shop.
func (d *Database) Tokens(ctx context.Context) iter.Seq2[adapter.LegacyToken, error] {
	return stream[adapter.LegacyToken](ctx, d, &listed[adapter.LegacyToken]{
		d: d, table: "oauth_token", key: "entity_id",
		columns: []string{"consumer_id", "admin_id", "customer_id", "type", "token", "secret", "verifier", "revoked", "created_at"},
		also:    "(SELECT c.email FROM " + d.table("customer_entity") + " c WHERE c.entity_id = t.customer_id)",
		read: func(id int64, columns []sql.NullString) adapter.LegacyToken {
			number := func(i int) int64 { return value(adapter.KindInteger, columns[i]).Int() }
			t := adapter.Token{
				ID: id, ConsumerID: number(0), AdminID: number(1), CustomerID: number(2), Type: adapter.TokenType(columns[3].String),
				Token: columns[4].String, Secret: columns[5].String, Revoked: number(7) != 0, Verifier: columns[6].String,
			}
			if created, ok := moment(columns[8].String); ok {
				t.CreatedAt, _ = time.Parse(time.DateTime, created) // it is of that form
			}
			return adapter.LegacyToken{Token: t, CustomerEmail: storable(columns[9].String)}
		},
	})
}

// listed reads a table whose rows are few columns each.
type listed[T any] struct {
	d          *Database
	table, key string
	columns    []string
	also       string // an SQL expression read after the columns, of the table t; "" for none
	read       func(id int64, columns []sql.NullString) T
	text       string
}

func (l *listed[T]) prepare(context.Context, *sql.Tx) error {
	l.text = "SELECT `" + l.key + "`"
	for _, column := range l.columns {
		l.text += ", `" + column + "`"
	}
	if l.also != "" {
		l.text += ", " + l.also
	}
	l.text += " FROM " + l.d.table(l.table) + " t WHERE `" + l.key + "` > ? ORDER BY `" + l.key + "` LIMIT ?"
	return nil
}

func (l *listed[T]) next(ctx context.Context, tx *sql.Tx, after int64) (batch []T, last int64, err error) {
	last = after
	columns := make([]sql.NullString, len(l.columns), len(l.columns)+1)
	if l.also != "" {
		columns = append(columns, sql.NullString{})
	}
	into := []any{&last}
	for i := range columns {
		into = append(into, &columns[i])
	}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		batch = append(batch, l.read(last, columns))
		return nil
	}, l.text, after, batchSize)
	return batch, last, err
}
