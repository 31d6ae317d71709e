package binlog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// minRetention is how long a server should keep its log: over a long weekend.
const minRetention = 72 * time.Hour

// Check returns the findings that prevent a server's log from being read, or make reading it
// unreliable. It changes nothing, and connects as Open does. It fails if it cannot connect at all.
func Check(ctx context.Context, o Options) ([]Finding, error) {
	tables, err := magento1.Open(ctx, o.database())
	if err != nil {
		return nil, err
	}
	id, err := tables.Identity(ctx)
	if err := errors.Join(err, tables.Close()); err != nil {
		return nil, err
	}
	database := o.database()
	config, err := database.DriverConfig()
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	c := &checker{Options: o, config: config, db: sql.OpenDB(connector), version: id.Version, mariaDB: isMariaDB(id.Version), user: "the user"}
	c.db.SetMaxOpenConns(1)
	defer func() { _ = c.db.Close() }()
	for _, step := range []func(context.Context) error{c.checkLog, c.checkRetention, c.checkReplica, c.checkServerID, c.checkTLS, c.checkTables} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("check the binary log: %w", err)
		}
	}
	if id.LogFile == "" {
		return c.findings, nil // there is a finding that says why
	}
	return c.findings, c.checkReading(ctx)
}

// A checker collects findings.
type checker struct {
	Options
	config   *mysql.Config
	db       *sql.DB
	version  string
	mariaDB  bool
	user     string // as GRANT names it
	findings []Finding
}

func (c *checker) find(f Finding) { c.findings = append(c.findings, f) }

// rows returns the rows of a statement by the names of their columns in lower case. A statement
// that the server does not know, or that the user may not use, returns the server's error.
func (c *checker) rows(ctx context.Context, statement string) (all []map[string]string, err error) {
	rows, err := c.db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		one := map[string]string{}
		for i, name := range names {
			one[strings.ToLower(name)] = values[i].String
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// firstOf returns the rows of the first of several statements that the server has. denied
// reports whether the user may not use it.
func (c *checker) firstOf(ctx context.Context, statements ...string) (rows []map[string]string, denied bool, err error) {
	for _, statement := range statements {
		var refused *mysql.MySQLError
		rows, err = c.rows(ctx, statement)
		switch {
		case err == nil:
			return rows, false, nil
		case !errors.As(err, &refused):
			return nil, false, err
		case isDenied(refused.Number):
			denied = true
		}
	}
	return nil, denied, nil
}

// variable returns the first of several global variables that the server has, or "".
func (c *checker) variable(ctx context.Context, names ...string) (string, error) {
	for _, name := range names {
		rows, _, err := c.firstOf(ctx, "SELECT @@GLOBAL."+name+" AS value")
		if err != nil || len(rows) > 0 {
			return firstValue(rows, "value"), err
		}
	}
	return "", nil
}

func firstValue(rows []map[string]string, name string) string {
	if len(rows) == 0 {
		return ""
	}
	return rows[0][name]
}

// grant returns the remedy for a missing right.
func (c *checker) grant(right, on string) string {
	return "an administrator of the database can allow it: GRANT " + right + " ON " + on + " TO " + c.user
}

// checkLog checks whether the log is written, and in which form.
func (c *checker) checkLog(ctx context.Context) error {
	rows, _, err := c.firstOf(ctx, "SELECT CURRENT_USER() AS value")
	if name, host, ok := strings.Cut(firstValue(rows, "value"), "@"); ok && err == nil {
		c.user = fmt.Sprintf("'%s'@'%s'", name, host)
	}
	if err != nil {
		return err
	}
	for _, v := range []struct {
		name, problem, remedy string
		good                  []string // "": the server does not have the variable
	}{
		{"log_bin", "the server writes no binary log", "set log_bin in the server's configuration and start it again", []string{"1"}},
		{"binlog_format", "the log has statements, which do not say which rows they change", "set binlog_format = ROW", []string{"ROW", ""}},
		{"binlog_row_image", "rows in the log lack columns that say whose they are", "set binlog_row_image = FULL or NOBLOB", []string{"FULL", "FULL_NODUP", "NOBLOB", ""}},
	} {
		value, err := c.variable(ctx, v.name)
		if err != nil {
			return err
		}
		if !slices.Contains(v.good, strings.ToUpper(value)) {
			c.find(Finding{Name: v.name, Problem: v.problem + " (" + v.name + " = " + value + ")", Remedy: v.remedy, Fatal: true})
		}
	}
	if !c.mariaDB {
		return c.checkMySQL(ctx)
	}
	return nil
}

// checkMySQL checks the settings that only MySQL has.
func (c *checker) checkMySQL(ctx context.Context) error {
	mode, err := c.variable(ctx, "gtid_mode")
	if err != nil {
		return err
	}
	if mode != "ON" {
		c.find(Finding{Name: "gtid_mode", Problem: "the server does not number transactions, so nobody can tell when a change in the log is visible",
			Remedy: "set gtid_mode = ON and enforce_gtid_consistency = ON", Fatal: true})
	}
	compressed, err := c.variable(ctx, "binlog_transaction_compression")
	if err == nil && compressed == "1" {
		c.find(Finding{Name: "binlog_transaction_compression", Problem: "each transaction is in one event, so a large one takes as much memory as its rows",
			Remedy: "set binlog_transaction_compression = OFF"})
	}
	return err
}

// checkRetention checks for how long the server keeps its log.
func (c *checker) checkRetention(ctx context.Context) error {
	seconds, err := c.variable(ctx, "binlog_expire_logs_seconds")
	if err != nil {
		return err
	}
	days, err := c.variable(ctx, "expire_logs_days")
	if err != nil {
		return err
	}
	kept, _ := strconv.ParseFloat(seconds, 64) // 0: for ever, or the server does not have it
	if kept == 0 {
		kept, _ = strconv.ParseFloat(days, 64)
		kept *= (24 * time.Hour).Seconds()
	}
	if kept > 0 && kept < minRetention.Seconds() {
		c.find(Finding{Name: cmp.Or(nonZero(seconds, "binlog_expire_logs_seconds"), "expire_logs_days"),
			Problem: fmt.Sprintf("the server removes its log after %s: after a longer interruption all records must be compared", time.Duration(kept*float64(time.Second)).Round(time.Second)),
			Remedy:  fmt.Sprintf("keep it for %d days or more", int(minRetention.Hours()/24))})
	}
	return nil
}

// nonZero returns name if there is a value other than 0.
func nonZero(value, name string) string {
	if value == "" || value == "0" {
		return ""
	}
	return name
}

// checkReplica checks whether the server is a replica whose log lacks the replicated changes, and
// whether the log has the database.
func (c *checker) checkReplica(ctx context.Context) error {
	updates, err := c.variable(ctx, "log_replica_updates", "log_slave_updates")
	if err != nil {
		return err
	}
	rows, _, err := c.firstOf(ctx, "SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
	if err != nil {
		return err
	}
	if len(rows) > 0 && updates == "0" {
		c.find(Finding{Name: "log_slave_updates", Problem: "the server is a replica, and what it replicates is not in its own log",
			Remedy: "set log_slave_updates = ON (log_replica_updates in MySQL 8.0.26 and later), or read the log of the primary server", Fatal: true})
	}
	status, denied, err := c.firstOf(ctx, "SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")
	if err != nil {
		return err
	}
	if denied {
		right := "REPLICATION CLIENT"
		if c.mariaDB && !isBefore105(c.version) {
			right = "BINLOG MONITOR"
		}
		c.find(Finding{Name: right, Problem: "the user may not see where the log ends", Remedy: c.grant("REPLICATION SLAVE, "+right, "*.*"), Fatal: true})
	}
	only, never := firstValue(status, "binlog_do_db"), firstValue(status, "binlog_ignore_db")
	if only != "" && !slices.Contains(strings.Split(only, ","), c.config.DBName) || slices.Contains(strings.Split(never, ","), c.config.DBName) {
		c.find(Finding{Name: "binlog_do_db", Problem: "the server does not log changes of this database",
			Remedy: "remove binlog_do_db and binlog_ignore_db from the server's configuration and start it again", Fatal: true})
	}
	return nil
}

// isBefore105 reports whether a version of MariaDB is older than 10.5.
func isBefore105(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && (major < 10 || major == 10 && minor < 5)
}

// checkServerID checks whether the id of the reader is taken.
func (c *checker) checkServerID(ctx context.Context) error {
	if c.ServerID == 0 {
		return nil // a random one
	}
	own, err := c.variable(ctx, "server_id")
	if err != nil {
		return err
	}
	replicas, _, err := c.firstOf(ctx, "SHOW REPLICAS", "SHOW SLAVE HOSTS")
	if err != nil {
		return err
	}
	id := strconv.FormatUint(uint64(c.ServerID), 10)
	if own == id || slices.ContainsFunc(replicas, func(r map[string]string) bool { return r["server_id"] == id }) {
		c.find(Finding{Name: "server_id", Problem: "a server or a replica has the id " + id + ", and one of the two would be cut off", Remedy: "choose another id", Fatal: true})
	}
	return nil
}

// checkTLS checks whether rows travel in plain text.
func (c *checker) checkTLS(ctx context.Context) error {
	if isLocal(c.config.Net, c.config.Addr) {
		return nil
	}
	rows, _, err := c.firstOf(ctx, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")
	if err != nil {
		return err
	}
	if firstValue(rows, "value") == "" {
		c.find(Finding{Name: "tls", Problem: "the connection is not encrypted, and the log has personal data and secrets", Remedy: "add tls=true to the DSN"})
	}
	return nil
}

// isLocal reports whether an address is on this machine.
func isLocal(network, address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return network == "unix" || err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// checkTables checks whether the tables may be read whose changes count.
func (c *checker) checkTables(ctx context.Context) error {
	for _, name := range TableNames() {
		if _, denied, err := c.firstOf(ctx, "SELECT 1 FROM `"+c.Prefix+name+"` LIMIT 0"); err != nil {
			return err
		} else if denied {
			c.find(Finding{Name: "SELECT", Problem: "the user may not read the table " + c.Prefix + name,
				Remedy: c.grant("SELECT", fmt.Sprintf("`%s`.*", c.config.DBName)), Fatal: true})
			return nil // the remedy is for all tables
		}
	}
	return nil
}

// checkReading begins to read the log as a replica.
func (c *checker) checkReading(ctx context.Context) error {
	options := c.Options
	options.From = magento1.Position{}
	reader, err := Open(ctx, options)
	switch {
	case err == nil:
		return reader.Close()
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrNoLog):
		c.find(Finding{Name: "REPLICATION SLAVE", Problem: "the user may not read the log", Remedy: c.grant("REPLICATION SLAVE", "*.*"), Fatal: true})
	default:
		c.find(Finding{Name: "binary log", Problem: err.Error(), Remedy: "mend this and check again", Fatal: true})
	}
	return nil
}
