package records

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests/report"
)

// RestoreCommand returns the command "restore".
func RestoreCommand(p *program.Program) *cobra.Command {
	var how backups.Options
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Bring back the database and its images from an archive",
		Long: `Fill the database of sql.dsn, and sql.media_dir or media.bucket, from an archive that
"portico backup" has made, and update the tables to this version. The database must be
of the same kind, SQLite, PostgreSQL or MariaDB, of any version of it that Portico
supports. The images may come from a folder and go to a bucket, or the other way.

The database must be empty: newly created, or without a record, credential or other
row. --force replaces what a database holds whose tables are of the same version.
Recordings and other folders stay as they are, and so does Redis: what processes have
cached there before is not used again.

The command refuses a database that other processes use: stop them first. Processes that
were killed count for up to five minutes. --while-running goes on all the same, and lets
them notice; what their clients write meanwhile is lost.

The command refuses, before it changes anything, to write images to a folder or bucket
that belongs to another database: a trial beside a running shop needs one of its own.
--take-media makes it this database's, if the other one is gone for good.

The rows take effect as a whole, when everything in the archive agrees with its
manifest. If the command fails or is killed, the database is as it was; images that it
has stored by then stay, and do no harm.

--verify then reads everything back, and writes nothing: it compares the rows and
checksums of all tables, and the bytes of all images, with the manifest, reads every
record as clients would, and checks that auth.secret_key decrypts the secrets.

The exit code is 0 if everything was restored and, with --verify, found as it should
be, and 1 otherwise.`,
		Example: `  portico restore shop.tar.gz --verify
  PORTICO_SQL_DSN_FILE=/run/secrets/dsn portico restore shop.tar.gz --verify --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return restore(p, cmd, args[0], how) },
	}
	p.AddSettingFlags(cmd, "log.level", "log.format")
	cmd.Flags().Bool("json", false, "print JSON")
	cmd.Flags().BoolVar(&how.Force, "force", false, "replace what the database holds")
	program.AddWhileRunningFlag(cmd, &how.WhileRunning)
	cmd.Flags().BoolVar(&how.TakeMedia, "take-media", false, "take the folder or bucket of images from another database")
	cmd.Flags().BoolVar(&how.Verify, "verify", false, "read everything back and compare it with the manifest")
	return cmd
}

// restore reads the archive, and prints a summary of its contents.
func restore(p *program.Program, cmd *cobra.Command, path string, how backups.Options) (err error) {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return err
	}
	options, err := program.StoreOptions(cfg, program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg)))
	if err != nil {
		return err
	}
	archive, err := openArchive(path)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	bar := report.NewBar(cmd.ErrOrStderr())
	how.Progress = func(part string, done int64) { bar.Show(int(done), -1, part) }
	manifest, err := sqlstore.Restore(cmd.Context(), options, archive, how)
	bar.Clear()
	switch {
	case errors.Is(err, backups.ErrNotEmpty):
		return fmt.Errorf("%w\nname a new database in sql.dsn, or add --force to replace what this one holds", err)
	case err != nil:
		return program.ExplainTakeMedia(program.ExplainInUse(err))
	}
	done, err := newResult(path, manifest)
	if err == nil && how.Verify {
		done.Verified = true
		done.Records, err = readRecords(cmd.Context(), cfg, options)
	}
	if err != nil {
		return err
	}
	return program.WriteResult(cmd, done, func(w io.Writer) { printResult(w, "restored", done) })
}

// recordsAtOnce is the number of records that are read in one batch.
const recordsAtOnce = 100

// readRecords reads every record through the adapter, checks the secret key, and returns the number
// of records.
func readRecords(ctx context.Context, cfg *config.Config, options sqlstore.Options) (_ *int64, err error) {
	db, err := sqlstore.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return nil, err
	}
	var total int64
	encoder := dataset.NewEncoder(io.Discard, schemas, func(string) (c dataset.Content, err error) { return c, nil })
	for _, r := range encoder.Lists() {
		err := encoder.WriteList(r, func(after adapter.Key) ([]adapter.Aggregate, error) {
			records, err := db.Adapter().Export(ctx, r, after, recordsAtOnce)
			total += int64(len(records))
			return records, err
		})
		if err != nil {
			return nil, fmt.Errorf("verify: read the %s: %w", r, err)
		}
	}
	if err := program.CheckSecretKey(ctx, db.Credentials()); err != nil {
		return nil, fmt.Errorf("verify: the data is restored, but %w", err)
	}
	return &total, nil
}
