package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests/report"
)

// A result is the output of the commands with --json.
type result struct {
	File     string            `json:"file"`
	Bytes    int64             `json:"bytes"`
	Rows     int64             `json:"rows"`
	Records  *int64            `json:"records_read,omitempty"`
	Verified bool              `json:"verified,omitempty"`
	Manifest *backups.Manifest `json:"manifest"`
}

// newResult returns the result for an archive.
func newResult(path string, m *backups.Manifest) (*result, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &result{File: path, Bytes: info.Size(), Rows: m.Rows(), Manifest: m}, nil
}

// BackupCommand returns the command "backup".
func BackupCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Save the database and its images in one archive",
		Long: `Write all that the database of sql.dsn holds, and the images that it names, from
sql.media_dir or media.bucket, into one archive that "portico restore" reads. Clients
may go on reading and writing: all rows in the archive are of the moment at which the
command began to read them, and so are the images.

The archive is FILE, a tar with gzip, which only you can read. It appears under that
name when it is complete and on disk; a command that is killed leaves at most a file
whose name begins with .portico-backup-. An existing FILE is not replaced.

The archive holds personal data, and password hashes. Secrets of consumers and tokens
are in it as in the database, encrypted with auth.secret_key, or readable if there is
none. Keep the key apart from the archive: neither is of use without the other.

It has no settings, recordings or log files, and nothing of Redis, which holds nothing
that has to be restored. The tables must be of this version: run "portico migrate" first
if they are of an older one.

--json prints the manifest: rows and checksums by table, and the images. "missing" are
images that the database names and whose bytes were not there.`,
		Example: `  portico backup /var/backups/shop-$(date +%F).tar.gz
  portico backup shop.tar.gz --json --config portico.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return save(p, cmd, args[0]) },
	}
	p.AddSettingFlags(cmd, "log.level", "log.format")
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// save writes the archive, and prints a summary of its contents.
func save(p *program.Program, cmd *cobra.Command, path string) (err error) {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already: name a new file", path)
	}
	db, err := program.OpenStoreAs(cmd.Context(), cfg, false, program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var manifest *backups.Manifest
	err = writeNew(path, func(to io.Writer) (err error) {
		bar := report.NewBar(cmd.ErrOrStderr())
		defer bar.Clear()
		manifest, err = db.Backup(cmd.Context(), to, p.Build.Version, func(part string, done int64) { bar.Show(int(done), -1, part) })
		return err
	})
	if err != nil {
		return err
	}
	made, err := newResult(path, manifest)
	if err != nil {
		return err
	}
	if missing := manifest.Media.Missing; missing > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d images that the database names are not in the backup, because their bytes are not there\n", missing)
	}
	return program.WriteResult(cmd, made, func(w io.Writer) { printResult(w, "saved", made) })
}

// printResult prints a result for people.
func printResult(w io.Writer, done string, r *result) {
	m := r.Manifest
	fmt.Fprintf(w, "%s:\t%d rows of %d tables, and %d images with %d bytes\n", done, r.Rows, len(m.Tables), m.Media.Files, m.Media.Bytes)
	fmt.Fprintf(w, "archive:\t%s, %d bytes, of %s\n", r.File, r.Bytes, m.Created.Format("2006-01-02 15:04:05 MST"))
	if r.Records != nil {
		fmt.Fprintf(w, "verified:\tall tables and images are as in the manifest, and %d records were read\n", *r.Records)
	}
}

// writeNew writes a file that only its owner can read. It appears under its name when it is complete
// and on disk, and never replaces another file.
func writeNew(path string, write func(io.Writer) error) (err error) {
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, ".portico-backup-*") // readable only by its owner
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if err := errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil {
		return err
	}
	names, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(names.Sync(), names.Close())
}

// openArchive opens an archive.
func openArchive(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

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
