package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/config"
)

// The names of the built-in adapters, and of their sections of settings.
const (
	SQLSection  = "sql"
	RESTSection = "rest"
)

// sqlSettings are the settings of Portico's own database. It holds the credentials, and either all
// records or the attributes that the backend cannot hold.
func sqlSettings() []config.Setting {
	return []config.Setting{
		{Name: "dsn", Kind: config.Text, Default: "sqlite:portico.db", Secret: true, Valid: engine.ValidDSN,
			Help: "The database: sqlite: and the path of a file, which Portico creates if it is missing; " +
				"postgres://user:password@host:5432/database; or, for MariaDB too, mysql:user:password@tcp(host:3306)/database."},
		{Name: "pool_mode", Kind: config.Choice, Default: "session", Choices: []string{"session", "transaction"},
			Help: "How long a connection of sql.dsn has one session of the server. session: as long as it is open, without a pooler or with one in session mode. " +
				"transaction: for one transaction, through PgBouncer or another pooler of PostgreSQL in transaction mode."},
		{Name: "direct_dsn", Kind: config.Text, Secret: true, Valid: validDirectDSN,
			Help: "The database of sql.dsn without the pooler, in the same form. Changes of the tables and imports use it. sql.pool_mode transaction needs it. Empty: sql.dsn."},
		{Name: "write_connections", Kind: config.Int, Default: "0", Max: 1000, Valid: validConnections,
			Help: "Maximum number of connections of this process that write to a database server. 0: two for each processor, and four at least."},
		{Name: "read_connections", Kind: config.Int, Default: "0", Max: 1000, Valid: validConnections,
			Help: "Maximum number of connections of this process that only read from a database server. 0: four for each processor, and eight at least."},
		{Name: "migrate", Kind: config.Choice, Default: "auto", Choices: []string{"auto", "off"},
			Help: "Whether Portico creates its tables and updates them at start. off leaves the database as it is: Portico then starts only after portico migrate up has run."},
		{Name: "media_dir", Kind: config.Text,
			Help: "Folder for the image files, which Portico creates if it is missing. Put nothing else there: Portico may overwrite files that it does not know. " +
				"Processes that share a database must share it; another database must not, and is refused. Empty: beside the file of SQLite, as portico.db-media; with a database server portico-media in the working directory."},
	}
}

// validDirectDSN is engine.ValidDSN for a DSN that may be missing.
func validDirectDSN(dsn string) error {
	if dsn == "" {
		return nil
	}
	return engine.ValidDSN(dsn)
}

// validConnections rejects a pool of one connection: a migration holds a lock on one connection,
// and runs on another.
func validConnections(number string) error {
	if number == "1" {
		return errors.New("must be 0, or 2 or more")
	}
	return nil
}

// OpenStore opens Portico's own database, and creates or migrates its tables if sql.migrate allows
// it. It waits while another process migrates them. It fails if the tables do not have the schema
// of this version afterwards. It logs a warning if secrets are stored unencrypted.
func OpenStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (*sqlstore.DB, error) {
	migrates := cfg.Sections[SQLSection]["migrate"] == "auto"
	db, err := OpenStoreAs(ctx, cfg, migrates, log)
	if err != nil || migrates {
		return db, err
	}
	if err := db.CheckVersion(ctx, log); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// OpenStoreAs is OpenStore for commands that decide about the tables themselves.
func OpenStoreAs(ctx context.Context, cfg *config.Config, migrate bool, log *slog.Logger) (*sqlstore.DB, error) {
	if len(cfg.Auth.SecretKey) == 0 {
		log.Warn("secrets of consumers and tokens are stored unencrypted: set auth.secret_key (PORTICO_AUTH_SECRET_KEY)")
	}
	options, err := StoreOptions(cfg, log)
	if err != nil {
		return nil, err
	}
	options.Migrate = migrate
	return sqlstore.Open(ctx, options)
}

// StoreOptions returns the options for opening Portico's own database. It does not open it.
func StoreOptions(cfg *config.Config, log *slog.Logger) (sqlstore.Options, error) {
	schemas, err := Schemas(cfg)
	if err != nil {
		return sqlstore.Options{}, err
	}
	media, err := MediaBucket(cfg)
	section := cfg.Sections[SQLSection]
	connections := func(name string) int {
		n, _ := strconv.Atoi(section[name]) // it was validated
		return n
	}
	return sqlstore.Options{
		Media:          media,
		Schemas:        schemas,
		DSN:            section["dsn"],
		DirectDSN:      section["direct_dsn"],
		PerTransaction: section["pool_mode"] == "transaction",

		WriteConnections: connections("write_connections"), ReadConnections: connections("read_connections"),

		MediaDir:     MediaDir(cfg),
		SecretKey:    string(cfg.Auth.SecretKey),
		PasswordCost: cfg.Auth.PasswordCost,
		Logger:       log,
		Trace:        cfg.Tracing.Endpoint != "",
	}, err
}

// MediaBucket returns the store of the image files, or nil if they are in a folder. It sends nothing.
func MediaBucket(cfg *config.Config) (media.Store, error) {
	m := cfg.Media
	if m.Bucket == "" {
		return nil, nil
	}
	if (m.AccessKey == "") != (m.SecretKey == "") {
		return nil, errors.New("set both media.access_key and media.secret_key, or neither")
	}
	store, err := media.OpenBucket(media.BucketOptions{
		Endpoint: m.Endpoint, Region: m.Region, Bucket: m.Bucket, Prefix: m.Prefix,
		AccessKey: m.AccessKey, SecretKey: m.SecretKey, PathStyle: m.PathStyle, Timeout: m.Timeout,
	})
	if err != nil {
		return nil, fmt.Errorf("setting media.endpoint: %w", err)
	}
	return store, nil
}

// MediaDir returns the folder of the image files.
func MediaDir(cfg *config.Config) string {
	section := cfg.Sections[SQLSection]
	return cmp.Or(section["media_dir"], engine.MediaDir(section["dsn"]))
}

// AddWhileRunningFlag adds the flag of commands that replace the store, and refuse to do so while
// processes use it.
func AddWhileRunningFlag(cmd *cobra.Command, whileRunning *bool) {
	cmd.Flags().BoolVar(whileRunning, "while-running", false, "go on although other processes use the database, and let them notice")
}

// ClaimMedia ensures that the folder or bucket of the images belongs to no other database. A bucket
// that cannot be reached is tried again with the first image.
func ClaimMedia(ctx context.Context, db *sqlstore.DB, log *slog.Logger) error {
	err := db.ClaimMedia(ctx)
	if owner, ok := errors.AsType[*media.OwnerError](err); ok {
		return owner
	}
	if err != nil && ctx.Err() == nil {
		log.Warn("where the images are is not marked as the place of this database's yet", "error", err)
	}
	return ctx.Err()
}

// ExplainTakeMedia adds the remedy to an error that images belong to another database.
func ExplainTakeMedia(err error) error {
	owner, ok := errors.AsType[*media.OwnerError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w\nadd --take-media if no other database uses them any more", owner)
}

// ExplainInUse adds the remedy to an error that processes use the database.
func ExplainInUse(err error) error {
	inUse, ok := errors.AsType[*coordination.InUseError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w\nadd --while-running if they may go on: they then notice that everything has changed, and what their clients write meanwhile is lost", inUse)
}

// Noted returns the evidence that a store holds under name, or nil.
func Noted[T any](ctx context.Context, db *sqlstore.DB, name string) (*T, error) {
	text, _, err := db.Evidence().Last(ctx, name)
	if err != nil || text == "" {
		return nil, err
	}
	var found T
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, fmt.Errorf("the note of the last %s: %w", name, err)
	}
	return &found, nil
}
