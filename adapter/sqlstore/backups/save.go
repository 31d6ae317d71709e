package backups

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// A Store is a database with its store of images.
type Store struct {
	DB    *engine.DB
	Media media.Store // nil: there are none
}

// errMigrations reports that the database has tables of another version of the program.
var errMigrations = errors.New("the tables are not those of this version of Portico: run portico migrate first, or the version that made them")

// Save writes an archive. It reads all tables as they are at one moment.
func Save(ctx context.Context, from Store, to io.Writer, program string, progress Progress) (*Manifest, error) {
	versions, err := appliedVersions(ctx, from.DB)
	if err != nil {
		return nil, err
	}
	known, err := from.DB.Engine.MigrationVersions()
	if err == nil && !slices.Equal(versions, known) {
		err = &adapter.Error{Kind: adapter.Unsupported, Op: "back up", Err: errMigrations}
	}
	if err != nil {
		return nil, err
	}
	tables, err := layout(ctx, versions)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewWriterSize(to, 1<<20)
	compressed, err := gzip.NewWriterLevel(buffered, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	s := &saving{
		Store: from, tar: tar.NewWriter(compressed), progress: progress, created: time.Now().UTC().Truncate(time.Second),
		manifest: &Manifest{Engine: from.DB.Engine.System, Tables: map[string]TableSum{}, Counters: map[string]int64{}},
	}
	s.manifest.Created = s.created
	header := Header{Format: format, Created: s.created, Program: program, Engine: s.manifest.Engine, Migrations: versions, Tables: tables}
	if err := s.addJSON(headerEntry, header); err != nil {
		return nil, err
	}
	files, err := s.addTables(ctx, tables)
	if err == nil {
		err = s.addMedia(ctx, files)
	}
	if err == nil {
		err = s.addJSON(manifestEntry, s.manifest)
	}
	if err == nil {
		err = errors.Join(s.tar.Close(), compressed.Close(), buffered.Flush())
	}
	return s.manifest, err
}

// A saving is an archive that is being written.
type saving struct {
	Store
	tar      *tar.Writer
	progress Progress
	created  time.Time
	manifest *Manifest
}

// add writes an entry.
func (s *saving) add(name string, size int64, content io.Reader) error {
	err := s.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: s.created, Typeflag: tar.TypeReg, Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = io.Copy(s.tar, content)
	return err
}

// addJSON writes an entry with a value.
func (s *saving) addJSON(name string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return s.add(name, int64(len(content)), bytes.NewReader(content))
}

// addTables writes all rows in one transaction, and returns where the bytes of the images are that
// they name, in the order of the names.
func (s *saving) addTables(ctx context.Context, tables []*Table) (files []media.Ref, err error) {
	tx, err := s.DB.Readers.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = engine.AwaitTxEnd(ctx, tx.Rollback) }() // it has changed nothing
	for _, t := range tables {
		if err := s.addTable(ctx, tx, t); err != nil {
			return nil, err
		}
	}
	for _, t := range tables {
		if t.counter == "" {
			continue
		}
		last, err := LastKey(ctx, s.DB, engine.QueryOf(tx.QueryContext), engine.Counter{Table: t.Name, Column: t.counter})
		if err != nil {
			return nil, fmt.Errorf("the last key of table %s: %w", t.Name, err)
		}
		s.manifest.Counters[t.Name] = last
	}
	return mediaFiles(ctx, engine.QueryOf(tx.QueryContext))
}

// mediaFiles returns where the bytes of all images are, in the order of their names.
func mediaFiles(ctx context.Context, query engine.QueryFunc) (files []media.Ref, err error) {
	files, err = media.Table{HasObjects: true}.Files(ctx, query)
	slices.SortFunc(files, func(a, b media.Ref) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}

// addTable writes the rows of a table, in entries of about pieceBytes.
func (s *saving) addTable(ctx context.Context, tx *sql.Tx, t *Table) error {
	var piece bytes.Buffer
	var total sum
	pieces := 0
	flush := func() error {
		pieces++
		err := s.add(fmt.Sprintf("%s%s/%06d.jsonl", tablesFolder, t.Name, pieces), int64(piece.Len()), bytes.NewReader(piece.Bytes()))
		piece.Reset()
		s.progress.call(t.Name, total.rows)
		return err
	}
	err := t.eachRow(ctx, engine.QueryOf(tx.QueryContext), func(row []byte) error {
		total.add(row)
		piece.Write(row)
		piece.WriteByte('\n')
		if piece.Len() >= pieceBytes {
			return flush()
		}
		return nil
	})
	if err == nil && piece.Len() > 0 {
		err = flush()
	}
	s.manifest.Tables[t.Name] = TableSum{total.rows, total.text()}
	return err
}

// nextKeyPattern finds the next key in the text of CounterStatements.Describe.
var nextKeyPattern = regexp.MustCompile(` AUTO_INCREMENT=(\d+)`)

// LastKey returns the last key that a counter gave, or 0.
func LastKey(ctx context.Context, db *engine.DB, query engine.QueryFunc, c engine.Counter) (last int64, err error) {
	if db.Engine.Counters.Describe == nil {
		err = engine.First(query(ctx, db.Engine.Counters.Last(c))).Scan(&last)
		return last, err
	}
	var table, described string
	if err := engine.First(query(ctx, db.Engine.Counters.Describe(c))).Scan(&table, &described); err != nil {
		return 0, err
	}
	if next := nextKeyPattern.FindStringSubmatch(described); next != nil {
		last, err = strconv.ParseInt(next[1], 10, 64)
		last--
	}
	return last, err
}

// addMedia writes the bytes of the images.
func (s *saving) addMedia(ctx context.Context, files []media.Ref) error {
	var total sum
	m := &s.manifest.Media
	for _, file := range files {
		size, digest, err := s.addFile(ctx, file)
		if errors.Is(err, fs.ErrNotExist) {
			m.Missing++
			continue
		}
		if err != nil {
			return fmt.Errorf("image %s: %w", file.Name, err)
		}
		total.add(mediaLine(file.Name, size, digest))
		m.Files, m.Bytes = m.Files+1, m.Bytes+size
		s.progress.call("images", m.Files)
	}
	m.Digest = total.text()
	return nil
}

// addFile writes the bytes of an image, and returns their number and SHA-256.
func (s *saving) addFile(ctx context.Context, file media.Ref) (size int64, digest []byte, err error) {
	if s.Media == nil {
		return 0, nil, fs.ErrNotExist
	}
	opened, err := s.Media.Open(ctx, file)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = opened.Close() }()
	hash := sha256.New()
	err = s.add(mediaFolder+file.Name, opened.Size, io.TeeReader(io.LimitReader(opened, opened.Size), hash))
	return opened.Size, hash.Sum(nil), err
}
