package magento1

import (
	"context"
	"database/sql"
	"iter"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// Admins yields the administrators by ascending id. A failure ends the sequence with an error.
func (d *Database) Admins(ctx context.Context) iter.Seq2[adapter.Admin, error] {
	return readAll[adapter.Admin](ctx, d.conn, &simpleTable[adapter.Admin]{
		conn: d.conn, table: "admin_user", key: "user_id", columns: []string{"username", "password", "is_active"},
		read: func(id int64, columns row) adapter.Admin {
			return adapter.Admin{ID: id, Username: d.conn.TextOf(columns[0]), PasswordHash: string(columns[1]), Disabled: string(columns[2]) == "0"}
		},
	}, 0, endless)
}

// Consumers yields the OAuth consumers by ascending id. A failure ends the sequence with an
// error.
func (d *Database) Consumers(ctx context.Context) iter.Seq2[adapter.Consumer, error] {
	return readAll[adapter.Consumer](ctx, d.conn, &simpleTable[adapter.Consumer]{
		conn: d.conn, table: "oauth_consumer", later: true, key: "entity_id", columns: []string{"name", "key", "secret", "callback_url", "rejected_callback_url"},
		read: func(id int64, columns row) adapter.Consumer {
			return adapter.Consumer{ID: id, Name: d.conn.TextOf(columns[0]), Key: string(columns[1]), Secret: string(columns[2]),
				Callback: d.conn.TextOf(columns[3]), RejectedCallback: d.conn.TextOf(columns[4])}
		},
	}, 0, endless)
}

// Tokens yields the OAuth tokens by ascending id, of both types, revoked ones included. ConsumerID,
// AdminID and CustomerID are ids of the legacy store. A failure ends the sequence with an error.
func (d *Database) Tokens(ctx context.Context) iter.Seq2[adapter.LegacyToken, error] {
	return readAll[adapter.LegacyToken](ctx, d.conn, &simpleTable[adapter.LegacyToken]{
		conn: d.conn, table: "oauth_token", later: true, key: "entity_id",
		columns: []string{"consumer_id", "admin_id", "customer_id", "type", "token", "secret", "verifier", "revoked", "created_at", "authorized"},
		extra:   "(SELECT c.email FROM " + d.conn.Table("customer_entity") + " c WHERE c.entity_id = t.customer_id)",
		read: func(id int64, columns row) adapter.LegacyToken {
			t := adapter.Token{
				ID: id, ConsumerID: columns.ID(0), AdminID: columns.ID(1), CustomerID: columns.ID(2), Type: adapter.TokenType(columns[3]),
				Token: string(columns[4]), Secret: string(columns[5]), Revoked: columns.ID(7) != 0, Verifier: string(columns[6]),
			}
			if created, ok := normalizeTime(string(columns[8])); ok {
				t.CreatedAt, _ = time.Parse(time.DateTime, created) // normalizeTime has checked the form
			}
			return adapter.LegacyToken{Token: t, CustomerEmail: d.conn.TextOf(columns[10]), Unauthorized: columns.ID(9) == 0}
		},
	}, 0, endless)
}

// A simpleTable reads a table with few columns.
type simpleTable[T any] struct {
	conn       *connection
	table, key string
	later      bool // earlier versions do not have the table, and no such records
	columns    []string
	extra      string                               // an SQL expression that is read after the columns; the table's alias is t; "" for none
	before     func(context.Context, *sql.Tx) error // is called before the first batch; nil: there is nothing to do
	read       func(id int64, columns row) T
	statement  string // "" if there is no table
}

func (t *simpleTable[T]) prepare(ctx context.Context, tx *sql.Tx) error {
	if t.before != nil {
		if err := t.before(ctx, tx); err != nil {
			return err
		}
	}
	there, err := t.conn.ColumnsOf(ctx, tx, t.table)
	if err != nil {
		return err
	}
	if there == nil && t.later { // unless the prefix is wrong, which the statement finds out
		if shop, err := t.conn.ColumnsOf(ctx, tx, "core_store"); err != nil || shop != nil {
			t.conn.missing(t.table, "")
			return err
		}
	}
	t.statement = "SELECT `" + t.key + "`, `" + strings.Join(t.columns, "`, `") + "`"
	if t.extra != "" {
		t.statement += ", " + t.extra
	}
	t.statement += " FROM " + t.conn.Table(t.table) + " t WHERE "
	return nil
}

func (t *simpleTable[T]) next(ctx context.Context, tx *sql.Tx, w window) (batch []T, last int64, err error) {
	if last = w.after; t.statement == "" {
		return nil, last, nil
	}
	err = t.conn.Each(ctx, tx, t.statement+w.has("`"+t.key+"`")+" ORDER BY `"+t.key+"` LIMIT "+formatID(int64(w.limit)), func(r row) error {
		last = r.ID(0)
		batch = append(batch, t.read(last, r[1:]))
		return nil
	})
	return batch, last, err
}

// CredentialsDigest returns a text that is the same as before if the administrators, their roles,
// consumers and tokens are. The server computes it, in one statement.
func (d *Database) CredentialsDigest(ctx context.Context) (digest string, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		sources, err := digester{d}.existing(ctx, tx, []digestSource{
			{table: "admin_user", columns: []string{"t.user_id", "t.username", "t.password", "t.is_active"}},
			{table: "api2_acl_user"}, {table: "api2_acl_role"}, {table: "api2_acl_rule"},
			{table: "oauth_consumer"}, {table: "oauth_token"},
			{table: "oauth_token", columns: []string{"t.entity_id", "c.email"}, join: "JOIN " + d.conn.Table("customer_entity") + " c ON c.entity_id = t.customer_id"},
		})
		if err != nil {
			return err
		}
		digests := []string{"''"}
		for _, s := range sources {
			digests = append(digests, s.digest(d.conn, 0, endless))
		}
		return d.conn.Each(ctx, tx, "SELECT CONCAT_WS('/', "+strings.Join(digests, ", ")+")", func(r row) error {
			digest = string(r[0])
			return nil
		})
	})
	return digest, err
}
