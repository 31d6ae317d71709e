package importer

import (
	"context"
	"fmt"
	"math"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
)

// Credentials imports consumers and tokens, and administrators if the options say so:
// everything or nothing.
func Credentials(ctx context.Context, db *sqlstore.DB, legacy *magento1.Database, o credentials.ImportOptions) (done credentials.ImportReport, err error) {
	from := credentials.Foreign{Admins: legacy.Admins(ctx), Consumers: legacy.Consumers(ctx), Tokens: legacy.Tokens(ctx)}
	if from.Roles, err = legacy.Roles(ctx); err != nil {
		return done, err
	}
	if done, err = db.Credentials().Import(ctx, from, o); err != nil {
		return done, noneStored(err)
	}
	return done, nil
}

// noneStored adds to an error that no credentials are stored.
func noneStored(err error) error { return fmt.Errorf("%w\nno credentials are stored", err) }

// The store records a checksum of each credential of the legacy store, like the digests of ranges,
// under names of their own and the legacy ids, so that an import notices deleted credentials.
const (
	TokenNotes         = "tokens"
	ConsumerNotes      = "consumers"
	AdministratorNotes = "administrators"
)

// AdministratorNote returns the recorded checksum of an administrator.
func AdministratorNote(a adapter.Admin) string {
	return ShortHash(a.Username + "\x00" + a.PasswordHash)
}

// PresentCredentials returns the checksums of the legacy store's current credentials.
func (imp *Importer) PresentCredentials(ctx context.Context) (map[string]map[adapter.Key]string, error) {
	tokens, consumers, administrators := map[adapter.Key]string{}, map[adapter.Key]string{}, map[adapter.Key]string{}
	for one, err := range imp.Legacy.Tokens(ctx) {
		if err != nil {
			return nil, err
		}
		tokens[adapter.Key(one.ID)] = ShortHash(one.Token.Token)
	}
	for one, err := range imp.Legacy.Consumers(ctx) {
		if err != nil {
			return nil, err
		}
		consumers[adapter.Key(one.ID)] = ShortHash(one.Key)
	}
	for one, err := range imp.Legacy.Admins(ctx) {
		if err != nil {
			return nil, err
		}
		administrators[adapter.Key(one.ID)] = AdministratorNote(one)
	}
	return map[string]map[adapter.Key]string{TokenNotes: tokens, ConsumerNotes: consumers, AdministratorNotes: administrators}, nil
}

// NotedCredentials returns the checksums that the store has recorded.
func (imp *Importer) NotedCredentials(ctx context.Context) (map[string]map[adapter.Key]string, error) {
	all := map[string]map[adapter.Key]string{}
	for _, kind := range []string{TokenNotes, ConsumerNotes, AdministratorNotes} {
		found, err := imp.Notes.RangeDigests(ctx, imp.Source.Name, kind, 0, math.MaxInt64)
		if err != nil {
			return nil, err
		}
		all[kind] = map[adapter.Key]string{}
		for _, d := range found {
			all[kind][d.After] = d.Digest
		}
	}
	return all, nil
}

// NoteCredentials notes credentials that are there. Notes of others stay.
func (imp *Importer) NoteCredentials(ctx context.Context, before, now map[string]map[adapter.Key]string) error {
	for kind, notes := range now {
		for id, hash := range notes {
			if before[kind][id] == hash {
				continue
			}
			if err := imp.Notes.ReplaceRangeDigests(ctx, imp.Source.Name, kind, id, id+1, coordination.RangeDigest{After: id, Digest: hash}); err != nil {
				return err
			}
		}
	}
	return nil
}

// importCredentials imports the credentials, and records the checksums that the legacy store had
// before the import.
func (imp *Importer) importCredentials(ctx context.Context, o credentials.ImportOptions) (done credentials.ImportReport, err error) {
	if o.DryRun {
		return Credentials(ctx, imp.DB, imp.Legacy, o)
	}
	now, err := imp.PresentCredentials(ctx)
	if err != nil {
		return done, noneStored(err)
	}
	if done, err = Credentials(ctx, imp.DB, imp.Legacy, o); err != nil {
		return done, err
	}
	before, err := imp.NotedCredentials(ctx)
	if err != nil {
		return done, err
	}
	for kind, notes := range now {
		for id := range before[kind] {
			delete(notes, id) // a follower has to find the changes since the checksum was recorded
		}
		if kind == AdministratorNotes && !o.Admins {
			clear(notes)
		}
	}
	return done, imp.NoteCredentials(ctx, before, now)
}
