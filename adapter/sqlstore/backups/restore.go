package backups

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// Options configure [Restore].
type Options struct {
	// Force replaces the contents of a database that is not empty.
	Force bool
	// Verify reads everything back from the database and the store of images, and compares it
	// with the manifest.
	Verify bool
	// WhileRunning goes on although other processes use the database. They notice the changes.
	WhileRunning bool
	// TakeMedia makes the database the owner of the image store, even if the store belongs to
	// another database.
	TakeMedia bool
	Progress  Progress
}

// Restore fills a database and its store of images from an archive, and runs the migrations that the
// archive is older than. The images are replaced before the database is. It fails with an
// [*coordination.InUseError] if another process uses the database.
func Restore(ctx context.Context, to Store, archive io.Reader, o Options) (_ *Manifest, err error) {
	compressed, err := gzip.NewReader(archive)
	if err != nil {
		return nil, ErrNoBackup
	}
	r := &restoring{Store: to, Options: o, compressed: compressed, tar: tar.NewReader(compressed), sums: map[string]*sum{}}
	if err := r.readHeader(); err != nil {
		return nil, err
	}
	if owned, ok := to.Media.(*media.Owned); ok { // storing the first image claims it
		if err := owned.Check(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	end, err := r.announce(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	begun := false
	err = to.DB.WriteAlone(ctx, "restore", func(tx *engine.Tx) error {
		if begun { // the archive can be read only once
			return &adapter.Error{Kind: adapter.Conflict, Op: "restore", Err: errInUse}
		}
		begun = true
		return r.load(ctx, tx)
	})
	if err == nil {
		err = r.moveCounters(ctx)
	}
	if err == nil && to.DB.Engine.Analyze != "" {
		_, err = to.DB.Writer.ExecContext(ctx, to.DB.Engine.Analyze)
	}
	if err == nil && o.Verify {
		err = r.verify(ctx)
	}
	if err == nil {
		_, err = to.DB.Engine.Migrate(ctx, to.DB.Writer, to.DB.Name, nil)
	}
	return r.manifest, err
}

var (
	errInUse   = errors.New("other processes use the database: stop them first")
	errNewer   = errors.New("the backup was made by a newer version of Portico: restore it with that version")
	errVersion = errors.New("the tables of the database are of another version than the backup: drop the database, create an empty one, and restore again")
)

// A restoring is an archive that is being read.
type restoring struct {
	Store
	Options
	tar        *tar.Reader
	compressed io.Reader
	header     Header
	tables     []*Table
	sums       map[string]*sum
	media      sum
	mediaSum   MediaSum
	manifest   *Manifest
	lastUse    time.Time // of the transaction

	announcement *coordination.Announcement // nil: the tables are older than announcements
	hasEpoch     bool
}

// announce announces the restore to other processes, until end is called. The tables must exist.
func (r *restoring) announce(ctx context.Context) (end func() error, err error) {
	if announces, err := r.DB.IsTable(ctx, "import_process"); err != nil || !announces {
		return func() error { return nil }, err
	}
	if r.hasEpoch, err = r.DB.IsTable(ctx, engine.StateTable); err != nil {
		return nil, err
	}
	announce := coordination.NewImportWatch(r.DB).AnnounceAlone
	if r.WhileRunning {
		announce = coordination.NewImportWatch(r.DB).Announce
	}
	if r.announcement, err = announce(ctx); err != nil {
		return nil, err
	}
	stop := r.announcement.Keep(ctx)
	return func() error {
		stop()
		return r.announcement.End(context.WithoutCancel(ctx))
	}, nil
}

// readJSON reads the content of an entry into a value.
func (r *restoring) readJSON(size int64, value any) error {
	if size > maxHeaderBytes {
		return ErrDamaged
	}
	content, err := io.ReadAll(r.tar)
	if err != nil {
		return cutOff(err)
	}
	if err := json.Unmarshal(content, value); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// cutOff returns the error of reading an archive.
func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return ErrIncomplete
	}
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, tar.ErrHeader) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// readHeader reads the first entry.
func (r *restoring) readHeader() error {
	entry, err := r.tar.Next()
	if err != nil || entry.Name != headerEntry {
		return ErrNoBackup
	}
	if err := r.readJSON(entry.Size, &r.header); err != nil {
		return err
	}
	known, err := r.DB.Engine.MigrationVersions()
	switch {
	case err != nil:
		return err
	case r.header.Format > format || slices.ContainsFunc(r.header.Migrations, func(v int64) bool { return !slices.Contains(known, v) }):
		return &adapter.Error{Kind: adapter.Unsupported, Op: "restore", Err: errNewer}
	case r.header.Engine != r.DB.Engine.System:
		err := fmt.Errorf("the backup is of %s and the database is %s: move a store to another kind of database with portico export and portico seed", r.header.Engine, r.DB.Engine.System)
		return &adapter.Error{Kind: adapter.Unsupported, Op: "restore", Err: err}
	}
	return nil
}

// prepare makes the tables of the archive.
func (r *restoring) prepare(ctx context.Context) error {
	applied, err := appliedVersions(ctx, r.DB)
	if err != nil {
		return err
	}
	if applied == nil {
		err = migrateTo(ctx, r.DB, r.header.Migrations)
	} else if !slices.Equal(applied, r.header.Migrations) {
		err = &adapter.Error{Kind: adapter.Conflict, Op: "restore", Err: errVersion}
	}
	if err != nil {
		return err
	}
	if r.tables, err = layout(ctx, r.header.Migrations); err != nil {
		return err
	}
	// An archive of an earlier version has local tables, too.
	same := slices.EqualFunc(r.tables, withoutLocal(r.header.Tables), func(a, b *Table) bool {
		return a.Name == b.Name && reflect.DeepEqual(a.Columns, b.Columns)
	})
	if !same {
		return fmt.Errorf("%w: its tables are not those of its version", ErrDamaged)
	}
	for _, t := range r.tables {
		r.sums[t.Name] = &sum{}
	}
	return nil
}

// load replaces all rows, and compares the archive with its manifest.
func (r *restoring) load(ctx context.Context, tx *engine.Tx) error {
	for _, t := range r.tables {
		if t.prefixed || r.Force {
			continue
		}
		filled, err := tx.RowExists(ctx, "SELECT 1 FROM "+t.Name+" LIMIT 1")
		if err == nil && filled {
			err = &adapter.Error{Kind: adapter.Conflict, Op: "restore", Err: fmt.Errorf("%w: table %s has rows", ErrNotEmpty, t.Name)}
		}
		if err != nil {
			return err
		}
	}
	for _, t := range slices.Backward(r.tables) {
		if _, err := tx.Run(ctx, "DELETE FROM "+t.Name); err != nil {
			return err
		}
	}
	for r.manifest == nil {
		entry, err := r.tar.Next()
		if err != nil {
			return cutOff(err)
		}
		switch {
		case entry.Name == manifestEntry:
			r.manifest = &Manifest{}
			err = r.readJSON(entry.Size, r.manifest)
		case strings.HasPrefix(entry.Name, tablesFolder):
			err = r.loadRows(ctx, tx, entry)
		case strings.HasPrefix(entry.Name, mediaFolder):
			err = r.loadFile(ctx, tx, entry)
		default:
			err = fmt.Errorf("%w: it has an entry %.100q", ErrDamaged, entry.Name)
		}
		if err != nil {
			return err
		}
	}
	if err := r.readEnd(); err != nil {
		return err
	}
	if err := r.compareArchive(); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r.hasEpoch {
		if err := coordination.AnnounceReplacement(ctx, tx, r.announcement); err != nil {
			return err
		}
	}
	for _, t := range r.tables {
		last := r.manifest.Counters[t.Name]
		if t.counter == "" || last == 0 || r.DB.Engine.Counters.PassKey == nil {
			continue
		}
		behind, move := r.DB.Engine.Counters.PassKey(engine.Counter{Table: t.Name, Column: t.counter}, last)
		isBehind, err := tx.RowExists(ctx, behind)
		if err != nil {
			return err
		}
		for _, statement := range move {
			if !isBehind {
				break
			}
			if _, err := tx.Run(ctx, statement); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEnd reads to the end of the archive, where the checksum of the compression is.
func (r *restoring) readEnd() error {
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows the manifest", ErrDamaged)
	}
	if _, err := io.Copy(io.Discard, r.compressed); err != nil {
		return cutOff(err)
	}
	return nil
}

// loadRows inserts the rows of an entry.
func (r *restoring) loadRows(ctx context.Context, tx *engine.Tx, entry *tar.Header) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(entry.Name, tablesFolder), "/")
	if isLocal(name) {
		return nil
	}
	at := slices.IndexFunc(r.tables, func(t *Table) bool { return t.Name == name })
	if at < 0 || entry.Size > maxPieceBytes {
		return fmt.Errorf("%w: it has an entry %.100q of %d bytes", ErrDamaged, entry.Name, entry.Size)
	}
	t := r.tables[at]
	content, err := io.ReadAll(r.tar)
	if err != nil {
		return cutOff(err)
	}
	var rows [][]any
	for row := range bytes.Lines(content) {
		row = bytes.TrimSuffix(row, []byte("\n"))
		values, err := t.parseRow(row)
		if err != nil {
			return fmt.Errorf("%w: table %s: %w", ErrDamaged, t.Name, err)
		}
		r.sums[t.Name].add(row)
		rows = append(rows, values)
	}
	if err := tx.InsertValues(ctx, t.Name, t.names(), rows, ""); err != nil {
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	r.lastUse = time.Now()
	r.Progress.call(t.Name, r.sums[t.Name].rows)
	return nil
}

// keepAlive is how often the transaction is used while images are stored: the server ends one that
// is idle.
const keepAlive = 10 * time.Second

// loadFile stores an image under its name.
func (r *restoring) loadFile(ctx context.Context, tx *engine.Tx, entry *tar.Header) error {
	name := strings.TrimPrefix(entry.Name, mediaFolder)
	if !rules.ValidFileName(name) || path.Clean(name) != name {
		return fmt.Errorf("%w: it has an image %.100q", ErrDamaged, name)
	}
	if r.Media == nil {
		return &adapter.Error{Kind: adapter.Unsupported, Op: "restore", Err: errors.New("the backup has images: set sql.media_dir or media.bucket")}
	}
	hash := sha256.New()
	if err := r.Media.Put(ctx, name, io.TeeReader(r.tar, hash), entry.Size); err != nil {
		return fmt.Errorf("image %s: %w", name, cutOff(err))
	}
	r.media.add(mediaLine(name, entry.Size, hash.Sum(nil)))
	r.mediaSum.Files, r.mediaSum.Bytes = r.mediaSum.Files+1, r.mediaSum.Bytes+entry.Size
	r.Progress.call("images", r.mediaSum.Files)
	if time.Since(r.lastUse) < keepAlive {
		return nil
	}
	r.lastUse = time.Now()
	_, err := tx.RowExists(ctx, "SELECT 1")
	return err
}

// compareTables compares the sums of tables with the manifest.
func (r *restoring) compareTables(sums map[string]*sum) error {
	for _, t := range r.tables {
		got, want := TableSum{sums[t.Name].rows, sums[t.Name].text()}, r.manifest.Tables[t.Name]
		if got.Rows != want.Rows {
			return fmt.Errorf("table %s has %d rows instead of %d", t.Name, got.Rows, want.Rows)
		}
		if got != want {
			return fmt.Errorf("table %s has other rows than the manifest says", t.Name)
		}
	}
	return nil
}

// compareArchive compares the rows and images of the archive with its manifest.
func (r *restoring) compareArchive() error {
	if err := r.compareTables(r.sums); err != nil {
		return err
	}
	got, want := r.mediaSum, r.manifest.Media
	got.Missing, got.Digest = want.Missing, r.media.text()
	if got.Files != want.Files {
		return fmt.Errorf("there are %d images instead of %d", got.Files, want.Files)
	}
	if got != want {
		return errors.New("the images have other bytes than the manifest says")
	}
	return nil
}

// moveCounters moves the counters of an engine that cannot do so within a transaction.
func (r *restoring) moveCounters(ctx context.Context) error {
	for _, t := range r.tables {
		last := r.manifest.Counters[t.Name]
		if t.counter == "" || last == 0 || r.DB.Engine.Counters.ContinueAt == nil {
			continue
		}
		if _, err := r.DB.Writer.ExecContext(ctx, r.DB.Engine.Counters.ContinueAt(engine.Counter{Table: t.Name, Column: t.counter}, last+1)); err != nil {
			return err
		}
	}
	return nil
}

// verify reads everything back.
func (r *restoring) verify(ctx context.Context) error {
	sums := map[string]*sum{}
	for _, t := range r.tables {
		total := &sum{}
		err := t.eachRow(ctx, engine.QueryOf(r.DB.Readers.QueryContext), func(row []byte) error { total.add(row); return nil })
		if err != nil {
			return err
		}
		sums[t.Name] = total
		r.Progress.call("verify "+t.Name, total.rows)
	}
	files, err := mediaFiles(ctx, engine.QueryOf(r.DB.Readers.QueryContext))
	if err != nil {
		return err
	}
	check := &saving{Store: r.Store, tar: tar.NewWriter(io.Discard), progress: func(_ string, done int64) { r.Progress.call("verify images", done) }, manifest: &Manifest{}}
	if err := check.addMedia(ctx, files); err != nil {
		return err
	}
	got := check.manifest.Media
	if got.Missing != r.manifest.Media.Missing {
		return fmt.Errorf("verify: %d images are missing, and %d were when the backup was made", got.Missing, r.manifest.Media.Missing)
	}
	if got != r.manifest.Media {
		return errors.New("verify: the images have other bytes than the manifest says")
	}
	if err := r.compareTables(sums); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return nil
}
