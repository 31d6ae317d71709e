package transfer

import (
	"context"
	"fmt"
	"math"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// Credentials imports consumers and tokens, and administrators if the options say so:
// everything or nothing.
func Credentials(ctx context.Context, db *sqlstore.DB, legacy *magento1.Database, o sqlstore.ImportOptions) (sqlstore.ImportReport, error) {
	done, err := db.Credentials().Import(ctx,
		sqlstore.ForeignCredentials{Admins: legacy.Admins(ctx), Consumers: legacy.Consumers(ctx), Tokens: legacy.Tokens(ctx)}, o)
	if err != nil {
		return done, fmt.Errorf("%w\nno credentials are stored", err)
	}
	return done, nil
}

// The credentials of the old shop are noted like digests of ranges, under names of their own
// and the ids that it has given, so that it is noticed when they go. A note is a checksum.
const (
	tokenNotes         = "tokens"
	consumerNotes      = "consumers"
	administratorNotes = "administrators"
)

// administratorNote returns what is noted of an administrator.
func administratorNote(a adapter.Admin) string {
	return shortHash(a.Username + "\x00" + a.PasswordHash)
}

// credentialsNow returns what is to be noted of the credentials that the old shop has.
func (imp *Importer) credentialsNow(ctx context.Context) (map[string]map[adapter.Key]string, error) {
	tokens, consumers, administrators := map[adapter.Key]string{}, map[adapter.Key]string{}, map[adapter.Key]string{}
	for one, err := range imp.legacy.Tokens(ctx) {
		if err != nil {
			return nil, err
		}
		tokens[adapter.Key(one.ID)] = shortHash(one.Token.Token)
	}
	for one, err := range imp.legacy.Consumers(ctx) {
		if err != nil {
			return nil, err
		}
		consumers[adapter.Key(one.ID)] = shortHash(one.Key)
	}
	for one, err := range imp.legacy.Admins(ctx) {
		if err != nil {
			return nil, err
		}
		administrators[adapter.Key(one.ID)] = administratorNote(one)
	}
	return map[string]map[adapter.Key]string{tokenNotes: tokens, consumerNotes: consumers, administratorNotes: administrators}, nil
}

// credentialsNoted returns what is noted of credentials.
func (imp *Importer) credentialsNoted(ctx context.Context) (map[string]map[adapter.Key]string, error) {
	all := map[string]map[adapter.Key]string{}
	for _, kind := range []string{tokenNotes, consumerNotes, administratorNotes} {
		found, err := imp.notes.RangeDigests(ctx, imp.source.Name, kind, 0, math.MaxInt64)
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

// noteCredentials notes credentials that are there. Notes of others stay.
func (imp *Importer) noteCredentials(ctx context.Context, before, now map[string]map[adapter.Key]string) error {
	for kind, notes := range now {
		for id, hash := range notes {
			if before[kind][id] == hash {
				continue
			}
			if err := imp.notes.ReplaceRangeDigests(ctx, imp.source.Name, kind, id, id+1, sqlstore.RangeDigest{After: id, Digest: hash}); err != nil {
				return err
			}
		}
	}
	return nil
}

// importCredentials imports the credentials, and notes what the old shop had before.
func (imp *Importer) importCredentials(ctx context.Context, o sqlstore.ImportOptions) (done sqlstore.ImportReport, err error) {
	if o.DryRun {
		return Credentials(ctx, imp.db, imp.legacy, o)
	}
	now, err := imp.credentialsNow(ctx)
	if err != nil {
		return done, err
	}
	if done, err = Credentials(ctx, imp.db, imp.legacy, o); err != nil {
		return done, err
	}
	before, err := imp.credentialsNoted(ctx)
	if err != nil {
		return done, err
	}
	for kind, notes := range now {
		for id := range before[kind] {
			delete(notes, id) // a follower has to find out what has changed since it was noted
		}
		if kind == administratorNotes && !o.Admins {
			clear(notes)
		}
	}
	return done, imp.noteCredentials(ctx, before, now)
}
