package follow

import (
	"context"
	"log/slog"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
)

// A credentialFollower keeps Portico's credentials equal to the legacy store's.
type credentialFollower struct {
	imp     *importer.Importer
	lease   coordination.Lease
	log     *slog.Logger
	metrics *Metrics
	// digest is the digest of the credentials imported last; "": import them again.
	digest string
	// withoutOwner: some tokens were not imported, as their owners were not here.
	withoutOwner bool
	// named are the faults of roles that were logged already.
	named map[string]bool
}

// follow imports the credentials of the legacy store if they have changed. It first revokes the
// credentials that were revoked or deleted there.
func (c *credentialFollower) follow(ctx context.Context) error {
	digest, err := c.imp.Legacy.CredentialsDigest(ctx)
	if err != nil || digest == c.digest && !c.withoutOwner {
		return err
	}
	now, err := c.imp.PresentCredentials(ctx)
	if err != nil {
		return err
	}
	before, err := c.imp.NotedCredentials(ctx)
	if err != nil {
		return err
	}
	if err := c.revokeGone(ctx, before, now); err != nil {
		return err
	}
	done, err := importer.Credentials(ctx, c.imp.DB, c.imp.Legacy, credentials.ImportOptions{Admins: true, Replace: true, Lease: &c.lease})
	if err != nil {
		return err
	}
	if err := c.followPasswords(ctx, before[importer.AdministratorNotes]); err != nil {
		return err
	}
	if err := c.imp.NoteCredentials(ctx, before, now); err != nil {
		return err
	}
	for kind, noted := range before {
		var gone []adapter.Key
		for id := range noted {
			if _, ok := now[kind][id]; !ok {
				gone = append(gone, id)
			}
		}
		if err := c.imp.Notes.RemoveRangeDigests(ctx, c.imp.Source.Name, kind, gone...); err != nil {
			return err
		}
	}
	c.imp.Report.Credentials = &done
	c.nameFaults(done.RoleFaults)
	for _, t := range []credentials.Tally{done.Admins, done.Consumers, done.Tokens} {
		c.metrics.credentials.Add(float64(t.Added + t.Updated))
	}
	skipped := done.Tokens.Skipped
	c.withoutOwner = skipped[credentials.NoCustomer]+skipped[credentials.NoConsumer] > 0 && c.digest != digest
	c.digest = digest
	return nil
}

// nameFaults logs the rows of the legacy store's roles that could not be carried over, each once.
func (c *credentialFollower) nameFaults(faults []string) {
	named := map[string]bool{}
	for _, fault := range faults {
		if named[fault] = true; !c.named[fault] {
			c.log.Warn("a row of the legacy store's REST roles is not carried over, and allows nothing here", "row", fault)
		}
	}
	c.named = named
}

// revokeGone revokes imported tokens and removes imported consumers that the legacy store no longer
// has.
func (c *credentialFollower) revokeGone(ctx context.Context, before, now map[string]map[adapter.Key]string) error {
	tokens, consumers := goneNotes(before[importer.TokenNotes], now[importer.TokenNotes]), goneNotes(before[importer.ConsumerNotes], now[importer.ConsumerNotes])
	if len(tokens)+len(consumers) == 0 {
		return nil
	}
	grants, err := c.imp.DB.Credentials().List(ctx)
	if err != nil {
		return err
	}
	for _, grant := range grants {
		if consumers[importer.ShortHash(grant.Consumer.Key)] {
			if _, err := c.imp.DB.Credentials().RemoveConsumer(ctx, grant.Consumer.Key); err != nil {
				return err
			}
			c.metrics.credentials.Inc()
			c.log.Info("a consumer that is gone from the legacy store was removed with its tokens", "id", grant.Consumer.ID)
			continue
		}
		for _, t := range grant.Tokens {
			if t.Revoked || !tokens[importer.ShortHash(t.Token)] {
				continue
			}
			if err := c.imp.DB.Credentials().Revoke(ctx, t.Token); err != nil {
				return err
			}
			c.metrics.credentials.Inc()
			c.log.Info("a token that is gone from the legacy store was revoked", "id", t.ID)
		}
	}
	return nil
}

// goneNotes returns the hashes in before that are missing from now.
func goneNotes(before, now map[adapter.Key]string) map[string]bool {
	gone := map[string]bool{}
	for id, hash := range before {
		if now[id] != hash {
			gone[hash] = true
		}
	}
	return gone
}

// followPasswords stores the password hash of each administrator whose hash the legacy store has
// changed. The other hashes stay: a login here may have replaced them with stronger ones.
func (c *credentialFollower) followPasswords(ctx context.Context, before map[adapter.Key]string) error {
	for one, err := range c.imp.Legacy.Admins(ctx) {
		if err != nil {
			return err
		}
		if was, known := before[adapter.Key(one.ID)]; !known || was == importer.AdministratorNote(one) || !adapter.KnownPasswordHash(one.PasswordHash) {
			continue
		}
		if _, err := c.imp.DB.Admins().SetPassword(ctx, one.Username, one.PasswordHash); err != nil && adapter.KindOf(err) != adapter.NotFound {
			return err
		}
		c.metrics.credentials.Inc()
	}
	return nil
}
