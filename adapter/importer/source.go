package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
)

// MaxSourceName is the greatest length of the name of a source, as adapter.ImportOptions has it.
const MaxSourceName = 64

// IsSourceName reports whether name is valid for [Options].Source.
func IsSourceName(name string) bool {
	return len(name) <= MaxSourceName && asciiName(strings.ReplaceAll(name, "-", "_")) == strings.ReplaceAll(name, "-", "_")
}

// CheckSource asks the legacy store's database for its identity, and fails if the store was filled
// from another one, or if the database looks like an older copy of itself.
func (imp *Importer) CheckSource(ctx context.Context) error {
	id, err := imp.Legacy.Identity(ctx)
	if err != nil {
		return err
	}
	imp.started = id
	if imp.Passed, err = imp.Legacy.NextKeys(ctx); err != nil {
		return err
	}
	known, err := imp.Notes.Sources(ctx)
	if err != nil {
		return err
	}
	imp.Source = coordination.ImportSource{
		Name: cmp.Or(imp.Options.Source, sourceName(id)), Server: id.Server, ServerVersion: id.Version, Database: id.Database, Prefix: id.Prefix,
		LogFile: id.LogFile, LogPosition: id.LogPosition, GTID: id.GTID, GivenKeys: imp.Passed,
	}
	imp.Report.Source = imp.Source.Name
	at := slices.IndexFunc(known, func(s coordination.ImportSource) bool { return s.Name == imp.Source.Name })
	switch {
	case at >= 0:
		return imp.checkAge(&known[at], id)
	case len(known) > 0 && imp.Options.Source == "":
		return otherShop(known, imp.Source.Name)
	default:
		return nil
	}
}

// otherShop returns the error for a store that was filled from another database.
func otherShop(known []coordination.ImportSource, name string) error {
	names := make([]string, len(known))
	for i, s := range known {
		names[i] = fmt.Sprintf("%s (database %s, last imported on %s)", s.Name, s.Database, s.NotedAt.Format("2006-01-02"))
	}
	return fmt.Errorf("the store was filled from %s, and this is another database, %s: nothing was imported. "+
		"If it is the same shop on another server, add --source %s; if it is another shop that the store is to have, too, add --source %s",
		strings.Join(names, " and "), name, known[0].Name, name)
}

// checkAge compares the database with its state at an earlier import. With --update it fails if the
// database is older than that: then it is probably a restored backup, which lacks records that were
// never removed.
func (imp *Importer) checkAge(before *coordination.ImportSource, now magento1.Identity) error {
	var signs []string
	if before.Server == now.Server && before.LogFile != "" && now.LogFile != "" && logBefore(now.LogFile, now.LogPosition, before.LogFile, before.LogPosition) {
		signs = append(signs, fmt.Sprintf("its binary log has gone back from %s:%d to %s:%d", before.LogFile, before.LogPosition, now.LogFile, now.LogPosition))
	}
	for _, r := range slices.Sorted(maps.Keys(before.GivenKeys)) {
		given, ok := imp.Passed[r]
		if ok && given < before.GivenKeys[r] {
			signs = append(signs, fmt.Sprintf("the last id of %s has gone back from %d to %d", r, before.GivenKeys[r], given))
		}
	}
	imp.keepPosition(before)
	if len(signs) == 0 || !imp.Options.Update || imp.Options.AllowRemovals >= 0 {
		return nil
	}
	return fmt.Errorf("the old database looks like an older copy of itself: %s. Nothing was changed. If that is right, "+
		"add --allow-removals with the number of records that may be removed", strings.Join(signs, ", and "))
}

// keepPosition keeps the recorded log position of the source, and its greatest keys unless removals
// are allowed: until an import is complete, changes since the position before the first import may
// be missing.
func (imp *Importer) keepPosition(before *coordination.ImportSource) {
	if before.LogFile != "" || before.GTID != "" {
		imp.Source.LogFile, imp.Source.LogPosition, imp.Source.GTID = before.LogFile, before.LogPosition, before.GTID
	}
	if imp.Options.AllowRemovals >= 0 {
		return // the owner knows that the keys have gone back
	}
	given := maps.Clone(imp.Passed)
	for r, key := range before.GivenKeys {
		given[r] = max(given[r], key)
	}
	imp.Source.GivenKeys = given
}

// logBefore reports whether a place in the binary log is before another one.
func logBefore(file string, position int64, otherFile string, otherPosition int64) bool {
	base, number, ok := logNumber(file)
	otherBase, otherNumber, otherOK := logNumber(otherFile)
	if !ok || !otherOK || base != otherBase {
		return false
	}
	return number < otherNumber || number == otherNumber && position < otherPosition
}

// logNumber splits the name of a file of the binary log, such as mysql-bin.000012.
func logNumber(file string) (base string, number int64, ok bool) {
	at := strings.LastIndex(file, ".")
	if at < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseInt(file[at+1:], 10, 64)
	return file[:at], number, err == nil
}

// NoteSource records the source in the store's import log before the first record is imported, and
// keeps the store from assigning keys that the legacy store has assigned.
func (imp *Importer) NoteSource(ctx context.Context) error {
	if imp.Options.DryRun {
		return nil
	}
	if err := imp.Notes.NoteSource(ctx, imp.Source); err != nil {
		return err
	}
	_, err := imp.Store.Import(ctx, nil, adapter.ImportOptions{Passed: imp.Passed})
	return err
}

// noteComplete notes, after an import of everything with --update, that changes may be
// missing only from where the log was at its beginning.
func (imp *Importer) noteComplete(ctx context.Context) error {
	if imp.Options.DryRun || !imp.Options.Update {
		return nil
	}
	imp.Source.LogFile, imp.Source.LogPosition, imp.Source.GTID = imp.started.LogFile, imp.started.LogPosition, imp.started.GTID
	return imp.Notes.NoteSource(ctx, imp.Source)
}

// settingsDigest returns a checksum of the options that decide, besides the legacy store, which
// records an import makes: an unchanged range is left out only if this checksum has not changed
// either. The number of the form goes up with each change of Portico that makes other records of the
// same rows, or stores that were imported before keep the old ones.
func (o *Options) settingsDigest() string {
	_, parameters, _ := strings.Cut(o.From.DSN[strings.LastIndex(o.From.DSN, "/")+1:], "?")
	query, err := url.ParseQuery(parameters)
	if err != nil {
		query = url.Values{"time_zone": {parameters}}
	}
	text := fmt.Sprintf("form 3\ncharset %q\ntime zone %q\nimages %t\n", o.From.Charset, query.Get("time_zone"), o.Media != "")
	for _, one := range o.Settings {
		text += one + "\n"
	}
	return ShortHash(text)
}

// shortHashBytes is long enough for texts that do not differ on purpose.
const shortHashBytes = 10

// ShortHash returns the beginning of the SHA-256 of a text, in hexadecimal.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:shortHashBytes])
}

// sourceName returns the name of the legacy store in the import log, at most 64 bytes: the
// beginning of the database's name, to distinguish stores at a glance, and a checksum of the
// store's identity.
func sourceName(id magento1.Identity) string {
	return fmt.Sprintf("%.40s-%s", asciiName(id.Database), ShortHash(id.Server+"\x00"+id.Database+"\x00"+id.Prefix))
}

// asciiName replaces everything in a name but letters, digits and underscores.
func asciiName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// An ahead reads files from a source before they are requested, if reading several at a time is
// faster. It is not safe for concurrent use.
type ahead struct {
	source  *source
	files   []string // files that will probably be requested, in this order
	last    int      // the index of the file that was requested last
	started map[string]*readAhead
}

// A readAhead is the result of reading a file in the background. done is closed when it is there.
type readAhead struct {
	done    chan struct{}
	content []byte
	err     error
}

// Ahead returns a reader of files that will probably be requested in this order. It reads ahead
// only while they are: skipped files are probably not wanted.
func (s *source) Ahead(files []string) *ahead {
	return &ahead{source: s, files: files, last: -1, started: map[string]*readAhead{}}
}

// Read is [Source.Read]. Reads in the background end with their contexts.
func (a *ahead) Read(ctx context.Context, file string) ([]byte, error) {
	if _, remote := a.source.files.(*web); !remote {
		return a.source.Read(ctx, file)
	}
	at := slices.Index(a.files, file)
	a.start(ctx, file)
	if at >= 0 && at == a.last+1 {
		for _, next := range a.files[at+1 : min(at+parallelRequests, len(a.files))] {
			a.start(ctx, next)
		}
	}
	a.last = at
	one := a.started[file]
	delete(a.started, file)
	select {
	case <-one.done:
		return one.content, one.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// start begins to read a file in the background.
func (a *ahead) start(ctx context.Context, file string) {
	if a.started[file] != nil {
		return
	}
	one := &readAhead{done: make(chan struct{})}
	a.started[file] = one
	go func() {
		defer close(one.done)
		one.content, one.err = a.source.Read(ctx, file)
	}()
}
