package magento1

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// Admins yields the administrators by ascending id. A failure ends the sequence with an
// error.
func (d *Database) Admins(ctx context.Context) iter.Seq2[adapter.Admin, error] {
	return readAll[adapter.Admin](ctx, d, &simpleTable[adapter.Admin]{
		d: d, table: "admin_user", key: "user_id", columns: []string{"username", "password", "is_active"},
		read: func(id int64, columns []sql.NullString) adapter.Admin {
			return adapter.Admin{ID: id, Username: cleanText(columns[0].String), PasswordHash: columns[1].String, Disabled: columns[2].String == "0"}
		},
	}, 0)
}

// Consumers yields the OAuth consumers by ascending id. A failure ends the sequence with an
// error.
func (d *Database) Consumers(ctx context.Context) iter.Seq2[adapter.Consumer, error] {
	return readAll[adapter.Consumer](ctx, d, &simpleTable[adapter.Consumer]{
		d: d, table: "oauth_consumer", key: "entity_id", columns: []string{"name", "key", "secret", "callback_url", "rejected_callback_url"},
		read: func(id int64, columns []sql.NullString) adapter.Consumer {
			return adapter.Consumer{ID: id, Name: cleanText(columns[0].String), Key: columns[1].String, Secret: columns[2].String,
				Callback: cleanText(columns[3].String), RejectedCallback: cleanText(columns[4].String)}
		},
	}, 0)
}

// Tokens yields the OAuth tokens by ascending id, of both types, revoked ones included.
// ConsumerID, AdminID and CustomerID are ids of the legacy system. A failure ends the
// sequence with an error.
func (d *Database) Tokens(ctx context.Context) iter.Seq2[adapter.LegacyToken, error] {
	return readAll[adapter.LegacyToken](ctx, d, &simpleTable[adapter.LegacyToken]{
		d: d, table: "oauth_token", key: "entity_id",
		columns: []string{"consumer_id", "admin_id", "customer_id", "type", "token", "secret", "verifier", "revoked", "created_at"},
		extra:   "(SELECT c.email FROM " + d.table("customer_entity") + " c WHERE c.entity_id = t.customer_id)",
		read: func(id int64, columns []sql.NullString) adapter.LegacyToken {
			number := func(i int) int64 { return valueOf(adapter.KindInteger, columns[i]).Int() }
			t := adapter.Token{
				ID: id, ConsumerID: number(0), AdminID: number(1), CustomerID: number(2), Type: adapter.TokenType(columns[3].String),
				Token: columns[4].String, Secret: columns[5].String, Revoked: number(7) != 0, Verifier: columns[6].String,
			}
			if created, ok := normalizeTime(columns[8].String); ok {
				t.CreatedAt, _ = time.Parse(time.DateTime, created) // normalizeTime has checked the form
			}
			return adapter.LegacyToken{Token: t, CustomerEmail: cleanText(columns[9].String)}
		},
	}, 0)
}

// A simpleTable reads a table with few columns.
type simpleTable[T any] struct {
	d          *Database
	table, key string
	columns    []string
	extra      string // an SQL expression that is read after the columns; the table's alias is t; "" for none
	read       func(id int64, columns []sql.NullString) T
	statement  string
}

func (t *simpleTable[T]) prepare(context.Context, *sql.Tx) error {
	t.statement = "SELECT `" + t.key + "`"
	for _, column := range t.columns {
		t.statement += ", `" + column + "`"
	}
	if t.extra != "" {
		t.statement += ", " + t.extra
	}
	t.statement += " FROM " + t.d.table(t.table) + " t WHERE `" + t.key + "` > ? ORDER BY `" + t.key + "` LIMIT ?"
	return nil
}

func (t *simpleTable[T]) next(ctx context.Context, tx *sql.Tx, after int64) (batch []T, last int64, err error) {
	last = after
	columns := make([]sql.NullString, len(t.columns), len(t.columns)+1)
	if t.extra != "" {
		columns = append(columns, sql.NullString{})
	}
	into := []any{&last}
	for i := range columns {
		into = append(into, &columns[i])
	}
	err = eachRow(ctx, tx, func(rows *sql.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		batch = append(batch, t.read(last, columns))
		return nil
	}, t.statement, after, batchSize)
	return batch, last, err
}
