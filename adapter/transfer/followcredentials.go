package transfer

import (
	"context"
	"log/slog"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// followedCredentials keep the credentials here equal to those of the old shop.
type followedCredentials struct {
	imp     *Importer
	lease   sqlstore.Lease
	log     *slog.Logger
	metrics *FollowMetrics
	// digest is that of the credentials that were imported last; "": they are imported anew.
	digest string
	// withoutOwner: some tokens were not imported, as their owners were not here.
	withoutOwner bool
}

// follow imports the credentials of the old shop if they have changed. What is revoked or deleted
// there is revoked here first.
func (c *followedCredentials) follow(ctx context.Context) error {
	digest, err := c.imp.legacy.CredentialsDigest(ctx)
	if err != nil || digest == c.digest && !c.withoutOwner {
		return err
	}
	now, err := c.imp.credentialsNow(ctx)
	if err != nil {
		return err
	}
	before, err := c.imp.credentialsNoted(ctx)
	if err != nil {
		return err
	}
	if err := c.revokeGone(ctx, before, now); err != nil {
		return err
	}
	done, err := Credentials(ctx, c.imp.db, c.imp.legacy, sqlstore.ImportOptions{Admins: true, Replace: true, Lease: &c.lease})
	if err != nil {
		return err
	}
	if err := c.followPasswords(ctx, before[administratorNotes]); err != nil {
		return err
	}
	if err := c.imp.noteCredentials(ctx, before, now); err != nil {
		return err
	}
	for kind, noted := range before {
		var gone []adapter.Key
		for id := range noted {
			if _, ok := now[kind][id]; !ok {
				gone = append(gone, id)
			}
		}
		if err := c.imp.notes.RemoveRangeDigests(ctx, c.imp.source.Name, kind, gone...); err != nil {
			return err
		}
	}
	c.imp.Report.Credentials = &done
	for _, t := range []sqlstore.Tally{done.Admins, done.Consumers, done.Tokens} {
		c.metrics.credentials.Add(float64(t.Added + t.Updated))
	}
	skipped := done.Tokens.Skipped
	c.withoutOwner = skipped[sqlstore.NoCustomer]+skipped[sqlstore.NoConsumer] > 0 && c.digest != digest
	c.digest = digest
	return nil
}

// revokeGone revokes the tokens and removes the consumers here that came from the old shop
// and that it no longer has.
func (c *followedCredentials) revokeGone(ctx context.Context, before, now map[string]map[adapter.Key]string) error {
	tokens, consumers := goneNotes(before[tokenNotes], now[tokenNotes]), goneNotes(before[consumerNotes], now[consumerNotes])
	if len(tokens)+len(consumers) == 0 {
		return nil
	}
	grants, err := c.imp.db.Credentials().List(ctx)
	if err != nil {
		return err
	}
	for _, grant := range grants {
		if consumers[shortHash(grant.Consumer.Key)] {
			if _, err := c.imp.db.Credentials().RemoveConsumer(ctx, grant.Consumer.Key); err != nil {
				return err
			}
			c.metrics.credentials.Inc()
			c.log.Info("a consumer that is gone from the old shop was removed with its tokens", "id", grant.Consumer.ID)
			continue
		}
		for _, t := range grant.Tokens {
			if t.Revoked || !tokens[shortHash(t.Token)] {
				continue
			}
			if err := c.imp.db.Credentials().Revoke(ctx, t.Token); err != nil {
				return err
			}
			c.metrics.credentials.Inc()
			c.log.Info("a token that is gone from the old shop was revoked", "id", t.ID)
		}
	}
	return nil
}

// goneNotes returns what was noted and is not there now.
func goneNotes(before, now map[adapter.Key]string) map[string]bool {
	gone := map[string]bool{}
	for id, hash := range before {
		if now[id] != hash {
			gone[hash] = true
		}
	}
	return gone
}

// followPasswords stores the password hash of each administrator whose hash the old shop has
// changed. Others stay: a log-in here may have replaced them by better ones.
func (c *followedCredentials) followPasswords(ctx context.Context, before map[adapter.Key]string) error {
	for one, err := range c.imp.legacy.Admins(ctx) {
		if err != nil {
			return err
		}
		if was, known := before[adapter.Key(one.ID)]; !known || was == administratorNote(one) || !adapter.KnownPasswordHash(one.PasswordHash) {
			continue
		}
		if _, err := c.imp.db.SetAdminPassword(ctx, one.Username, one.PasswordHash); err != nil && adapter.KindOf(err) != adapter.NotFound {
			return err
		}
		c.metrics.credentials.Inc()
	}
	return nil
}
