package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/huandu/go-sqlbuilder"
	"github.com/portico-commerce/portico/adapter"
	"github.com/pressly/goose/v3"
)

// mysqlEngine returns the engine of MySQL and MariaDB. Transactions run at read
// committed, so that a transaction that waited for a record's lock sees the latest
// record.
func mysqlEngine() *Engine {
	return &Engine{
		System:     "mysql",
		validate:   validMySQL,
		Open:       openMySQL,
		location:   locationOfMySQL,
		dialect:    goose.DialectMySQL,
		migrations: "mysql", commitsChanges: true,
		tryMigrationLock: galeraLock{
			serverLock: serverLock{ // the names of locks are shared by all databases of the server
				lock:   "SELECT GET_LOCK(CONCAT('portico ', MD5(DATABASE())), 0)",
				unlock: "SELECT RELEASE_LOCK(CONCAT('portico ', MD5(DATABASE())))",
			},
			now:       mysqlNow,
			contested: func(err error) bool { _, again := classifyMySQL(err); return again },
		}.migrationLock,
		LockImports: serverLock{
			lock:   "SELECT GET_LOCK(CONCAT('portico import ', MD5(DATABASE())), 0)",
			unlock: "SELECT RELEASE_LOCK(CONCAT('portico import ', MD5(DATABASE())))",
			limitSilence: func(silence time.Duration) string {
				if silence == 0 { // the connection is idle during the import
					silence = 28 * 24 * time.Hour
				}
				return fmt.Sprintf("SET SESSION wait_timeout = %d", int(silence.Seconds()))
			},
			unlimitSilence: fmt.Sprintf("SET SESSION wait_timeout = %d", waitSeconds),
			lockWithin: func(wait time.Duration) string { // MySQL rounds to seconds
				return fmt.Sprintf("SELECT GET_LOCK(CONCAT('portico import ', MD5(DATABASE())), %.3f)", wait.Seconds())
			},
			grace:     time.Second,
			isRefused: func(error) bool { return false },
		}.lockImports,
		Flavor:      sqlbuilder.MySQL,
		OrderedJoin: "STRAIGHT_JOIN",
		LockClause:  " FOR UPDATE", ShareClause: " LOCK IN SHARE MODE",
		Ascending:  " ASC",
		Descending: " DESC",
		// Folded columns hold bytes, but a pattern matches characters. The backslash is
		// the default escape character.
		LikeFormat:         "CONVERT(%s USING utf8mb4) COLLATE utf8mb4_bin %sLIKE %s",
		WithTrailingBlanks: "CONCAT(%s, SUBSTR(%[2]s, CHAR_LENGTH(RTRIM(%[2]s)) + 1))",
		LeadingInteger:     "CAST(NULLIF(REGEXP_SUBSTR(LEFT(%s, 18), '^[0-9]+'), '') AS SIGNED)",
		OptionID:           "%s.option_id",
		casts:              map[adapter.Kind]string{adapter.KindInteger: "SIGNED", adapter.KindDecimal: "DECIMAL(12,4)", adapter.KindTime: "DATETIME"},
		placeSQL:           []string{"SELECT CONCAT(@@server_uid, ' ', DATABASE())", "SELECT CONCAT(@@server_uuid, ' ', DATABASE())"}, // MariaDB, MySQL
		IsTableSQL:         "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND table_name = ?",
		IgnoreDuplicate: func(key string) string {
			column, _, _ := strings.Cut(key, ",")
			return " ON DUPLICATE KEY UPDATE " + column + " = " + column
		},
		Now:    mysqlNow,
		Upsert: upsertMySQL,
		Counters: CounterStatements{
			// MySQL moves the counter to the greatest stored key. The statement must run
			// outside a transaction, which it would commit.
			Resync:   func(c Counter) string { return "ALTER TABLE " + c.Table + " AUTO_INCREMENT = 1" },
			Describe: func(c Counter) string { return "SHOW CREATE TABLE " + c.Table },
			ContinueAt: func(c Counter, key int64) string {
				return "ALTER TABLE " + c.Table + " AUTO_INCREMENT = " + strconv.FormatInt(key, 10)
			},
		},
		Decimal:     func(tenThousandths int64) any { return adapter.FormatDecimal(tenThousandths) },
		Classify:    classifyMySQL,
		queryDirect: queryMySQL,
		Check:       checkNode,
		HasLost:     hasLostNode,
	}
}

// mysqlNow is Engine.Now.
const mysqlNow = "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)"

// waitSeconds is how long a connection may be idle.
const waitSeconds = 2 * int(connectionIdle/time.Second)

// upsertMySQL returns the end of an INSERT. MySQL finds the key itself.
func upsertMySQL(_ string, columns ...string) string {
	assignments := make([]string, len(columns))
	for i, name := range columns {
		assignments[i] = name + " = VALUES(" + name + ")"
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(assignments, ", ")
}

var errMySQLDSN = errors.New(`must be "mysql:user:password@tcp(host:3306)/database"`)

func validMySQL(dsn string) error {
	_, err := parseMySQL(dsn)
	return err
}

// parseMySQL parses a DSN. It does not return the driver's errors, which repeat parts
// of the DSN.
func parseMySQL(dsn string) (*mysql.Config, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil || config.DBName == "" || strings.HasPrefix(dsn, "//") {
		return nil, errMySQLDSN
	}
	return config, nil
}

func locationOfMySQL(dsn string) string {
	config, err := parseMySQL(dsn)
	if err != nil {
		return ""
	}
	return "mysql:" + config.Addr + "/" + config.DBName
}

func openMySQL(dsn string, o PoolOptions) (Pools, error) {
	if o.PerTransaction {
		return Pools{}, ErrPerTransaction
	}
	config, err := parseMySQL(dsn)
	if err != nil {
		return Pools{}, err
	}
	config.Timeout = cmp.Or(config.Timeout, connectTimeout)
	config.Logger = &mysql.NopLogger{} // errors are returned instead
	config.ParseTime = false           // times are read as texts
	config.ClientFoundRows = false     // IgnoreDuplicate depends on it
	config.InterpolateParams = false
	if err := config.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin")); err != nil {
		return Pools{}, err
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	maps.Copy(config.Params, map[string]string{
		// Refuse values that do not fit, and accept 0 as a key.
		"sql_mode":                 "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'",
		"time_zone":                "'+00:00'",
		"innodb_lock_wait_timeout": strconv.Itoa(lockSeconds),
		"lock_wait_timeout":        strconv.Itoa(lockSeconds), // for schema changes
		// MySQL reads the second one as a comment: it has no such setting.
		"wait_timeout": fmt.Sprintf("%d /*M!100300 , idle_transaction_timeout = %d */", waitSeconds, idleSeconds),
		// Sort by whole texts, up to the length of a TEXT. The sort buffer must hold at
		// least fifteen of them.
		"max_sort_length":  "65535",
		"sort_buffer_size": "2097152",
	})
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return Pools{}, errMySQLDSN
	}
	const isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
	isNode := new(atomic.Bool)
	pools := openServer(
		galeraConnector{connector, isolation + ", READ WRITE", isNode},
		galeraConnector{connector, isolation + ", READ ONLY", isNode}, o,
	)
	pools.IsCluster = isNode.Load
	return pools, nil
}

// classifyMySQL classifies errors by their numbers. MySQL and MariaDB share nearly all of
// them.
func classifyMySQL(err error) (kind adapter.ErrorKind, again bool) {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		if errors.Is(err, mysql.ErrInvalidConn) || connectionLost(err) || hasLostNode(err) {
			return adapter.Unavailable, false
		}
		return adapter.Internal, false
	}
	switch e.Number {
	case deadlock, 1020, // deadlock, or another node of a cluster was first; record changed since it was read
		3101, 1412: // another member of a group was first; table changed since the transaction began
		return adapter.Unavailable, true
	case 1180, 3100: // error during COMMIT: the rest of the cluster may or may not have the transaction
		return adapter.Unavailable, false
	case nodeNotReady: // the node has refused the statement; it goes on refusing
		return adapter.Unavailable, false
	case 1062, 1586, 1216, 1217, 1451, 1452: // unique keys, foreign keys
		return adapter.Conflict, false
	case 1048, 1364, 3819, 4025, // not null, no value, check
		1264, 1265, 1292, 1366, 1406, 1690, 1411: // out of range, truncated, of another type, too long
		return adapter.Invalid, false
	case 1288, 1348: // a view or a column that cannot be written
		return adapter.Unsupported, false
	case 1040, 1129, 1130, 1203, 1226, 1044, 1045, 1049, 1461, 1698, // connections, login, no database, statements
		1053, 1290, 1317, 1792, 1836, 1927, // shutdown, read-only, interrupted, killed
		1205, 1969, 3024, // lock and statement timeouts
		1021, 1030, 1037, 1041, 1114, 1158, 1159, 1160, 1161: // disk, memory, table full, network
		return adapter.Unavailable, false
	default:
		return adapter.Internal, false
	}
}
