package magento1

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"maps"
	"slices"
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

// everyResource is the resource of a rule that allows all calls.
const everyResource = "all"

// maxRoleFaults bounds the faults of roles that are named.
const maxRoleFaults = 100

// aclPrivileges returns the privileges of rules.
func aclPrivileges() []string { return []string{"retrieve", "create", "update", "delete"} }

// Roles returns the REST roles, with the administrators who have them (configurations 8). A row that
// cannot be carried over allows nothing, and is a fault.
func (d *Database) Roles(ctx context.Context) (roles *adapter.LegacyRoles, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) (err error) {
		roles, err = readRoles(ctx, d.conn.conn, tx)
		return err
	})
	return roles, err
}

// A roleReader reads the roles.
type roleReader struct {
	conn  *conn
	tx    *sql.Tx
	roles map[int64]*adapter.AccessRole
	read  adapter.LegacyRoles
}

// readRoles reads the roles.
func readRoles(ctx context.Context, conn *conn, tx *sql.Tx) (*adapter.LegacyRoles, error) {
	r := &roleReader{conn: conn, tx: tx, roles: map[int64]*adapter.AccessRole{}}
	tokens, err := conn.ColumnsOf(ctx, tx, "oauth_token")
	if err != nil {
		return nil, err
	}
	there, err := conn.ColumnsOf(ctx, tx, "api2_acl_role")
	if err != nil {
		return nil, err
	}
	if there == nil && tokens == nil {
		return &adapter.LegacyRoles{Absent: true}, nil
	}
	for _, read := range []func(context.Context) error{r.readRoles, r.readRules, r.readAssignments} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.roles)) {
		role := r.roles[id]
		slices.SortFunc(role.Rules, func(a, b adapter.AccessRule) int {
			return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Privilege, b.Privilege))
		})
		role.Rules = slices.Compact(role.Rules)
		r.read.Roles = append(r.read.Roles, *role)
	}
	return &r.read, nil
}

// fault notes a row that cannot be carried over.
func (r *roleReader) fault(format string, values ...any) {
	if len(r.read.Faults) < maxRoleFaults {
		r.read.Faults = append(r.read.Faults, fmt.Sprintf(format, values...))
	}
}

// readRoles reads the names of the roles. Guests and Customers always have a role.
func (r *roleReader) readRoles(ctx context.Context) error {
	err := r.each(ctx, "api2_acl_role", "SELECT entity_id, role_name FROM %s ORDER BY entity_id", func(row row) {
		id, name := row.ID(0), r.conn.TextOf(row[1])
		if name == "" {
			name = fmt.Sprintf("role %d", id)
		}
		r.roles[id] = &adapter.AccessRole{ID: id, Name: name}
	})
	for id, name := range map[int64]string{adapter.GuestRole: "Guest", adapter.CustomerRole: "Customer"} {
		if err == nil && r.roles[id] == nil {
			r.roles[id] = &adapter.AccessRole{ID: id, Name: name}
			r.fault("api2_acl_role has no row %d, the role of every %s, so that it allows nothing", id, name)
		}
	}
	return err
}

// readRules reads the rules. A rule without a privilege allows all calls of its resource.
func (r *roleReader) readRules(ctx context.Context) error {
	resources := aclResources() // the original compares names byte by byte, which the database does not
	return r.each(ctx, "api2_acl_rule", "SELECT entity_id, role_id, resource_id, privilege FROM %s ORDER BY entity_id", func(row row) {
		role, name := r.roles[row.ID(1)], r.conn.TextOf(row[2])
		resource, known := resources[name]
		privileges := aclPrivileges()
		if row[3] != nil && name != everyResource {
			privileges = []string{r.conn.TextOf(row[3])}
		}
		switch {
		case role == nil:
			r.fault("api2_acl_rule %d belongs to the role %d, which does not exist", row.ID(0), row.ID(1))
		case name == everyResource:
			role.Everything = true
		case !known:
			r.fault("api2_acl_rule %d of the role %.64q names the resource %.64q, which the contract does not have", row.ID(0), role.Name, name)
		case !slices.Contains(aclPrivileges(), privileges[0]):
			r.fault("api2_acl_rule %d of the role %.64q names the privilege %.64q, which does not exist", row.ID(0), role.Name, privileges[0])
		default:
			for _, p := range privileges {
				role.Rules = append(role.Rules, adapter.AccessRule{Resource: resource, Privilege: p})
			}
		}
	})
}

// readAssignments reads the roles of the administrators. One with two roles has none.
func (r *roleReader) readAssignments(ctx context.Context) error {
	ofAdmin := map[int64][]int64{}
	err := r.each(ctx, "api2_acl_user", "SELECT admin_id, role_id FROM %s ORDER BY admin_id, role_id", func(row row) {
		ofAdmin[row.ID(0)] = append(ofAdmin[row.ID(0)], row.ID(1))
	})
	if err != nil {
		return err
	}
	return r.each(ctx, "admin_user", "SELECT user_id FROM %s ORDER BY user_id", func(row row) {
		a := adapter.RoleAssignment{AdminID: row.ID(0), Imported: true}
		switch ids := slices.Compact(ofAdmin[a.AdminID]); {
		case len(ids) == 0:
			r.fault("admin_user %d has no row in api2_acl_user, so that every call of theirs fails", a.AdminID)
		case len(ids) > 1:
			r.fault("admin_user %d has %d roles in api2_acl_user: they get none, so that every call of theirs fails", a.AdminID, len(ids))
		case r.roles[ids[0]] == nil:
			r.fault("admin_user %d has the role %d in api2_acl_user, which does not exist, so that every call of theirs fails", a.AdminID, ids[0])
		default:
			a.RoleID = ids[0]
		}
		r.read.Assigned = append(r.read.Assigned, a)
	})
}

// each calls f for each row of a statement, in which %s stands for the table, if there is the table.
func (r *roleReader) each(ctx context.Context, table, statement string, f func(row)) error {
	return eachIfTable(ctx, r.conn, r.tx, table, fmt.Sprintf(statement, r.conn.Table(table)), func(row row) error {
		f(row)
		return nil
	})
}

// eachIfTable calls f for each row of a statement that reads a table, if there is the table.
func eachIfTable(ctx context.Context, conn *conn, tx *sql.Tx, table, text string, f func(row) error) error {
	there, err := conn.ColumnsOf(ctx, tx, table)
	if err != nil || there == nil {
		return err
	}
	return conn.Each(ctx, tx, text, f)
}
