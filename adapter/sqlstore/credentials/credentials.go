package credentials

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Store stores the OAuth consumers, tokens and nonces (OAuth on API calls), and
// the API keys. Besides the kinds listed for each method, all may return the context's
// error or fail with kind Unavailable or Internal; Internal is also the kind for a
// secret that the configured key does not decrypt.
type Store struct {
	db         *engine.DB
	sealer     sealer
	nonceUses  atomic.Uint64
	nonceClock nonceClock
}

// New returns the store of credentials of a database, whose secrets are encrypted under
// a key of any length; "" means no encryption.
func New(db *engine.DB, secretKey string) (*Store, error) {
	sealer, err := newSealer(secretKey)
	return &Store{db: db, sealer: sealer, nonceClock: nonceClock{Clock: adapter.NewClock()}}, err
}

// Counters returns the counters of the keys of credentials.
func Counters() []engine.Counter {
	return []engine.Counter{
		{Table: "oauth_consumer", Column: "consumer_id"}, {Table: "oauth_token", Column: "token_id"},
		{Table: "oauth_nonce", Column: "nonce_id"}, {Table: "api_key", Column: "key_id"},
	}
}

// Tables returns the tables of credentials; a table comes before the tables that it refers to.
func Tables() []string {
	return []string{"oauth_nonce", "oauth_token", "oauth_consumer", "api_key", "access_rule", "access_role", "admin_role"}
}

// tokenLength is the length of consumer keys and tokens, in bytes.
const tokenLength = 32

var (
	errLength = errors.New("must have 32 characters")
	errOwner  = errors.New("must be either an administrator or a customer")
	// errEmptySecret refuses empty secrets because anyone could sign with them.
	errEmptySecret = errors.New("must not be empty")
)

// Consumer returns the consumer of a key, ignoring letter case. Kinds: NotFound.
func (c *Store) Consumer(ctx context.Context, key string) (adapter.Consumer, error) {
	const op = "find consumer"
	lower := lookupForm(key)
	consumer := adapter.Consumer{}
	var sealed string
	var callback, rejected sql.NullString
	err := engine.First(c.db.CredentialStatements.Query(ctx,
		"SELECT consumer_id, name, consumer_key, secret, callback, rejected_callback FROM oauth_consumer WHERE consumer_key_lower = ?", lower,
	)).Scan(&consumer.ID, &consumer.Name, &consumer.Key, &sealed, &callback, &rejected)
	if err == nil {
		consumer.Secret, err = c.sealer.open(sealed, "consumer "+lower)
	}
	if err != nil {
		return adapter.Consumer{}, c.db.WrapError(ctx, op, err)
	}
	consumer.Callback, consumer.RejectedCallback = callback.String, rejected.String
	return consumer, nil
}

// lookupForm returns the form of a key or token that is unique in the database. It is in
// lower case, and U+FFFD replaces characters that some engine cannot store in a text.
func lookupForm(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.ToValidUTF8(s, "\uFFFD")), "\x00", "\uFFFD")
}

// tokenColumns are the columns that scanToken scans.
const tokenColumns = "token_id, consumer_id, type, token, secret, admin_id, customer_id, revoked, created_at, callback, verifier"

// Token returns a token of any type, revoked or not, ignoring letter case. Kinds:
// NotFound.
func (c *Store) Token(ctx context.Context, token string) (adapter.Token, error) {
	const op = "find token"
	lower := lookupForm(token)
	t, err := scanToken(engine.First(c.db.CredentialStatements.Query(ctx, "SELECT "+tokenColumns+" FROM oauth_token WHERE token_lower = ?", lower)).Scan)
	if err == nil {
		t.Secret, err = c.sealer.open(t.Secret, "token "+lower)
	}
	if err != nil {
		return adapter.Token{}, c.db.WrapError(ctx, op, err)
	}
	return t, nil
}

// scanToken scans the tokenColumns. Secret is in its stored form.
func scanToken(scan func(into ...any) error) (adapter.Token, error) {
	var t adapter.Token
	var admin, customer sql.NullInt64
	var callback, verifier sql.NullString
	created := engine.NewCell(adapter.KindTime, new(adapter.Value))
	if err := scan(&t.ID, &t.ConsumerID, &t.Type, &t.Token, &t.Secret, &admin, &customer, &t.Revoked, created, &callback, &verifier); err != nil {
		return t, err
	}
	t.AdminID, t.CustomerID = admin.Int64, customer.Int64
	t.Callback, t.Verifier = callback.String, verifier.String
	var err error
	t.CreatedAt, err = time.Parse(time.DateTime, created.Value.Text())
	return t, err
}

// AddConsumer stores a consumer and returns it with its id. It generates an empty Key
// or Secret. Kinds: Conflict if the key is taken, Invalid.
func (c *Store) AddConsumer(ctx context.Context, consumer adapter.Consumer) (adapter.Consumer, error) {
	consumer.ID = 0
	consumer.Key = cmp.Or(consumer.Key, newSecret())
	consumer.Secret = cmp.Or(consumer.Secret, newSecret())
	err := c.db.Write(ctx, "add consumer", func(tx *engine.Tx) (err error) {
		consumer.ID, err = c.insertConsumer(ctx, tx, consumer)
		return err
	})
	if err != nil {
		return adapter.Consumer{}, err
	}
	return consumer, nil
}

// insertConsumer stores a consumer and returns its id, which the database chooses if it
// is 0.
func (c *Store) insertConsumer(ctx context.Context, tx *engine.Tx, consumer adapter.Consumer) (id int64, err error) {
	if len(consumer.Key) != tokenLength {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: "add consumer", Field: "key", Err: errLength}
	}
	if consumer.Secret == "" {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: "add consumer", Field: "secret", Err: errEmptySecret}
	}
	lower := lookupForm(consumer.Key)
	sealed, err := c.sealer.seal(consumer.Secret, "consumer "+lower)
	if err != nil {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: "add consumer", Field: "secret", Err: err}
	}
	return tx.Insert(ctx, "oauth_consumer", "consumer_id", consumer.ID,
		[]string{"name", "consumer_key", "consumer_key_lower", "secret", "callback", "rejected_callback", "created_at"},
		[]any{consumer.Name, consumer.Key, lower, sealed, engine.NullIfZero(consumer.Callback), engine.NullIfZero(consumer.RejectedCallback), now()})
}

// AddToken stores an access token of the consumer t.ConsumerID for the administrator
// t.AdminID or the customer t.CustomerID, and returns it with its id. It generates an
// empty Token or Secret, and sets Type, Revoked and CreatedAt. Kinds: NotFound for an
// unknown consumer or customer; Conflict if the token is taken; Invalid, also for a
// disabled administrator.
func (c *Store) AddToken(ctx context.Context, t adapter.Token) (adapter.Token, error) {
	t.ID, t.Type, t.Revoked = 0, adapter.AccessToken, false
	t.CreatedAt = time.Now().UTC().Truncate(time.Second)
	t.Token = cmp.Or(t.Token, newSecret())
	t.Secret = cmp.Or(t.Secret, newSecret())
	err := c.db.Write(ctx, "add token", func(tx *engine.Tx) (err error) {
		t.ID, err = c.insertToken(ctx, tx, t, "")
		return err
	})
	if err != nil {
		return adapter.Token{}, err
	}
	return t, nil
}

// insertToken stores a token and returns its id, which the database chooses if it is 0.
func (c *Store) insertToken(ctx context.Context, tx *engine.Tx, t adapter.Token, verifier string) (id int64, err error) {
	const op = "add token"
	if len(t.Token) != tokenLength {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "token", Err: errLength}
	}
	if (t.AdminID == 0) == (t.CustomerID == 0) {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "owner", Err: errOwner}
	}
	if t.Secret == "" {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "secret", Err: errEmptySecret}
	}
	lower := lookupForm(t.Token)
	sealed, err := c.sealer.seal(t.Secret, "token "+lower)
	if err != nil {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "secret", Err: err}
	}
	if err := requireRow(ctx, tx, "SELECT 1 FROM oauth_consumer WHERE consumer_id = ?", t.ConsumerID); err != nil {
		return 0, fmt.Errorf("consumer %d: %w", t.ConsumerID, err)
	}
	if t.CustomerID != 0 {
		if err := requireRow(ctx, tx, "SELECT 1 FROM customer WHERE entity_id = ?", t.CustomerID); err != nil {
			return 0, fmt.Errorf("customer %d: %w", t.CustomerID, err)
		}
	}
	if t.AdminID != 0 {
		admins := adminTx{tx}
		if err := admins.checkEnabled(ctx, op, t.AdminID); err != nil {
			return 0, err
		}
	}
	return tx.Insert(ctx, "oauth_token", "token_id", t.ID,
		[]string{"consumer_id", "type", "token", "token_lower", "secret", "verifier", "admin_id", "customer_id", "created_at"},
		[]any{t.ConsumerID, string(t.Type), t.Token, lower, sealed, engine.NullIfZero(verifier), engine.NullIfZero(t.AdminID), engine.NullIfZero(t.CustomerID),
			t.CreatedAt.UTC().Format(time.DateTime)})
}

func now() string { return time.Now().UTC().Format(time.DateTime) }

// List returns all consumers with their tokens, both in the order of their ids, without
// secrets.
func (c *Store) List(ctx context.Context) ([]adapter.Grant, error) {
	grants, err := c.list(ctx)
	return grants, c.db.WrapError(ctx, "list credentials", err)
}

func (c *Store) list(ctx context.Context) ([]adapter.Grant, error) {
	var grants []adapter.Grant
	at := map[int64]int{}
	err := engine.EachRow(ctx, c.db.CredentialStatements.Query, func(rows engine.Rows) error {
		var g adapter.Grant
		var callback, rejected sql.NullString
		err := rows.Scan(&g.Consumer.ID, &g.Consumer.Name, &g.Consumer.Key, &callback, &rejected)
		g.Consumer.Callback, g.Consumer.RejectedCallback = callback.String, rejected.String
		at[g.Consumer.ID] = len(grants)
		grants = append(grants, g)
		return err
	}, "SELECT consumer_id, name, consumer_key, callback, rejected_callback FROM oauth_consumer ORDER BY consumer_id")
	if err != nil {
		return nil, err
	}
	err = engine.EachRow(ctx, c.db.CredentialStatements.Query, func(rows engine.Rows) error {
		t, err := scanToken(rows.Scan)
		t.Secret, t.Verifier = "", ""
		// The consumer is unknown if it was added between the two statements.
		if i, ok := at[t.ConsumerID]; ok {
			grants[i].Tokens = append(grants[i].Tokens, t)
		}
		return err
	}, "SELECT "+tokenColumns+" FROM oauth_token ORDER BY token_id")
	if err != nil {
		return nil, err
	}
	return grants, nil
}

// Export returns all consumers with their tokens and with all secrets. Kinds: Internal for
// secrets that the configured key does not decrypt.
func (c *Store) Export(ctx context.Context) ([]adapter.Grant, error) {
	grants, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range grants {
		g := &grants[i]
		if g.Consumer, err = c.Consumer(ctx, g.Consumer.Key); err != nil {
			return nil, err
		}
		for j := range g.Tokens {
			if g.Tokens[j], err = c.Token(ctx, g.Tokens[j].Token); err != nil {
				return nil, err
			}
		}
	}
	return grants, nil
}

// Revoke marks a token as revoked, ignoring letter case. Kinds: NotFound.
func (c *Store) Revoke(ctx context.Context, token string) error {
	return c.db.Write(ctx, "revoke token", func(tx *engine.Tx) error {
		lower := lookupForm(token)
		if err := requireRow(ctx, tx, "SELECT 1 FROM oauth_token WHERE token_lower = ?", lower); err != nil {
			return err
		}
		_, err := tx.Run(ctx, "UPDATE oauth_token SET revoked = 1 WHERE token_lower = ?", lower)
		return err
	})
}

// RemoveConsumer removes the consumer of a key, ignoring letter case, with all its tokens,
// and returns the number of the tokens. Kinds: NotFound.
func (c *Store) RemoveConsumer(ctx context.Context, key string) (tokens int64, err error) {
	err = c.db.WriteAlone(ctx, "remove consumer", func(tx *engine.Tx) error {
		var id int64
		text := "SELECT consumer_id FROM oauth_consumer WHERE consumer_key_lower = ?" + c.db.Engine.LockClause
		if err := tx.QueryRow(ctx, text, lookupForm(key)).Scan(&id); err != nil {
			return err
		}
		tokens, err = tx.Affect(ctx, "DELETE FROM oauth_token WHERE consumer_id = ?", id)
		if err == nil {
			_, err = tx.Run(ctx, "DELETE FROM oauth_consumer WHERE consumer_id = ?", id)
		}
		return err
	})
	return tokens, err
}

// Load stores the consumers and tokens of a data set.
func (c *Store) Load(ctx context.Context, tx *engine.Tx, data *adapter.Dataset) error {
	if err := loadRoles(ctx, tx, &data.Roles); err != nil {
		return err
	}
	grants := []adapter.Grant{{Consumer: data.Consumer}, {Consumer: data.ConsentConsumer}}
	for _, t := range data.Tokens {
		t.Verifier = data.Verifier
		grants[0].Tokens = append(grants[0].Tokens, t)
	}
	var lastConsumer, lastToken int64
	const greatest = "SELECT COALESCE((SELECT MAX(consumer_id) FROM oauth_consumer), 0), COALESCE((SELECT MAX(token_id) FROM oauth_token), 0)"
	if err := tx.QueryRow(ctx, greatest).Scan(&lastConsumer, &lastToken); err != nil {
		return err
	}
	for _, g := range append(grants, data.Grants...) {
		if g.Consumer.Key == "" {
			continue
		}
		lastConsumer++
		g.Consumer.ID = lastConsumer
		if _, err := c.insertConsumer(ctx, tx, g.Consumer); err != nil {
			return err
		}
		for _, t := range g.Tokens {
			lastToken++
			t.ID, t.ConsumerID = lastToken, lastConsumer
			if t.CreatedAt.IsZero() {
				t.CreatedAt = time.Now().UTC()
			}
			if _, err := c.insertToken(ctx, tx, t, t.Verifier); err != nil {
				return err
			}
		}
	}
	return nil
}

// requireRow fails with [sql.ErrNoRows] if a statement finds no row.
func requireRow(ctx context.Context, tx *engine.Tx, text string, argument any) error {
	return tx.QueryRow(ctx, text, argument).Scan(new(int))
}
