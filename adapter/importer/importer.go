package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
)

// Options are the source, the target and the extent of an import.
type Options struct {
	// From describes the legacy store's database and how to read it. Its field Skipped is set by
	// New.
	From magento1.Options
	// Store gets the records.
	Store *sqlstore.DB
	// Join, unless nil, joins the store with the backend of its records. It is called before
	// the first record is stored, and not in a dry run.
	Join func(ctx context.Context, local *sqlstore.RecordAdapter) (Joined, error)
	// Media is where the files of images are, as [Open] has it, and MaxMedia the
	// size of the largest of them, in bytes. "": images are imported without their bytes.
	Media    string
	MaxMedia int64
	// Settings are texts that decide, besides From and Media, which records the import makes from
	// the legacy store's data: if they have changed, no range that was imported before counts as
	// unchanged.
	Settings []string
	// Lists returns the values of the settings that list the allowed values of products, by the names
	// of [magento1.Setting], for [Report.Missing]; nil stands for no settings.
	Lists func() map[string][]string
	// MissingFields returns the entry of the setting fields that the configuration lacks so that a
	// list of the legacy store limits a role here, too; "" if it lacks none. It may be nil.
	MissingFields func(*magento1.FieldList) (entry string)
	// URLKey returns the url_key of a product with a name, for products that have none. nil:
	// these stay as they are.
	URLKey func(name string) string
	// WrittenHere reports whether clients write a resource's records here, while there is a legacy
	// store: these are neither replaced nor removed. nil: none are.
	WrittenHere func(resource string) bool

	// DryRun stores nothing, and reports the records that an import would store.
	DryRun bool
	// Update replaces and removes the records that the legacy store has changed and removed since.
	Update bool
	// AllowRemovals is the number of records that may be removed even if they look like too
	// many. -1: none.
	AllowRemovals int64
	// Source is the name of the legacy store in the store's import log. "": a name made of the
	// identity of the legacy store's database.
	Source string
	// Admins imports administrators with the credentials. An import of everything does.
	Admins bool
	// Progress is called for each part before its records are read. It may be nil.
	Progress func(p magento1.Part, total int64) Progress
	// CredentialsProgress is called with the number of credentials that are done. It may be nil.
	CredentialsProgress func(done int)
}

// A Joined is a store with the backend of its records. It imports into both. The interface keeps
// this package independent of backends.
type Joined interface {
	adapter.Importer
	// ResolveIntents completes or undoes writes into both that were interrupted.
	ResolveIntents(context.Context)
	// Close closes the connection to the backend.
	Close() error
}

// A Progress shows how far the import of a part has got.
type Progress interface {
	// Set shows that so many records are done.
	Set(done int64)
	// Finish shows that the part is done.
	Finish(*Counts)
}

// An Importer copies a shop from a database of Magento 1 into a store. It is not safe for
// concurrent use.
type Importer struct {
	// Report holds the outcomes of the records so far.
	Report *Report

	// A follower runs the steps of an import one at a time. The fields below are the state that the
	// steps share: the source, the target, and the facts found about the source.

	Options Options
	Legacy  *magento1.Database
	DB      *sqlstore.DB
	Store   *sqlstore.RecordAdapter
	Notes   coordination.ImportLog
	Source  coordination.ImportSource
	// Passed are the greatest keys that the legacy store has assigned.
	Passed map[adapter.Resource]adapter.Key
	// SettingsDigest is noted with the digest of each range that is imported: it counts as
	// unchanged only if this is the same.
	SettingsDigest string
	// Announcement tells processes that cache records; nil: nothing was stored so far.
	Announcement *coordination.Announcement
	// Current counts the rows that the reader leaves out; it may be nil.
	Current *Counts
	// LeftOut is called for each value and part that cannot be stored and is missing from its
	// record: with a description for people, and the reason.
	LeftOut func(what, reason string)
	// Unchanged holds the ranges that were found unchanged, so that the legacy store computes no
	// digest twice.
	Unchanged map[rangeID]bool

	joined   Joined            // see Options.Join; nil: the records are in the store alone
	media    *mediaFiles       // nil: there are no files of images
	started  magento1.Identity // the legacy store's database at the beginning
	expected resourceKeys      // records that the dry run would have stored
}

// A rangeID identifies a range of keys of a part.
type rangeID struct {
	part  magento1.Part
	after adapter.Key
}

// New connects to the legacy store's database, and opens the files of images.
func New(ctx context.Context, o Options) (*Importer, error) {
	imp := &Importer{
		Report: &Report{DryRun: o.DryRun}, Options: o, DB: o.Store, Store: o.Store.Adapter(), Notes: o.Store.Imports(), SettingsDigest: o.settingsDigest(),
		expected: resourceKeys{}, Unchanged: map[rangeID]bool{}, LeftOut: func(_, _ string) {},
	}
	from := o.From
	from.Skipped = func(s magento1.Skipped) {
		switch {
		case s.Reason == magento1.ReasonVersion:
			imp.Report.note("%s", MissingInVersion(s))
		case imp.Current != nil:
			imp.Current.leaveOut(s.Table+": "+s.Reason, s.Key)
			if s.Reason == magento1.ReasonValue || s.Reason == magento1.ReasonKey {
				imp.LeftOut(s.Table+", "+s.Key, s.Reason)
			}
		}
	}
	var err error
	if imp.Legacy, err = magento1.Open(ctx, from); err != nil {
		return nil, err
	}
	if o.Media != "" {
		if imp.media, err = openMedia(ctx, o.Media, o.MaxMedia); err != nil {
			return nil, errors.Join(err, imp.Legacy.Close())
		}
	}
	return imp, nil
}

// Close closes the connection and the files.
func (imp *Importer) Close() error {
	err := imp.Legacy.Close()
	if imp.joined != nil {
		err = errors.Join(err, imp.joined.Close())
	}
	err = errors.Join(err, EndAnnouncement(imp.Announcement))
	if imp.media != nil {
		err = errors.Join(err, imp.media.Close())
	}
	return err
}

// endTimeout limits how long an import waits to say that it has ended.
const endTimeout = 5 * time.Second

// EndAnnouncement says that imports have ended. nil: none were announced.
func EndAnnouncement(a *coordination.Announcement) error {
	if a == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	return a.End(ctx)
}

// Announce lets running processes notice the records that the import is going to change, and joins
// the store with its backend.
func (imp *Importer) Announce(ctx context.Context) (err error) {
	if imp.Options.DryRun {
		return nil
	}
	if imp.Announcement, err = imp.DB.Changes().Announce(ctx); err != nil {
		return err
	}
	return imp.Join(ctx, imp.Announcement)
}

// Join makes the store announce imported records, and joins it with its backend, where it resolves
// the unfinished writes of earlier imports and followers.
func (imp *Importer) Join(ctx context.Context, announcement *coordination.Announcement) (err error) {
	imp.Store = imp.Store.Announced(announcement)
	if imp.Options.Join == nil {
		return nil
	}
	if imp.joined, err = imp.Options.Join(ctx, imp.Store); err != nil {
		return err
	}
	imp.joined.ResolveIntents(ctx)
	return nil
}

// Target returns the importer of the records: the store joined with its backend, or the store
// alone.
func (imp *Importer) Target() adapter.Importer {
	if imp.joined != nil {
		return imp.joined
	}
	return imp.Store
}

// Import imports the named groups, and adds their outcomes to the report.
func (imp *Importer) Import(ctx context.Context, names ...string) error {
	return imp.run(ctx, Groups(names...), slices.Contains(names, All))
}

// Database returns the name of the legacy store's database. Import has been called before.
func (imp *Importer) Database() string { return imp.Source.Database }

// run imports groups. all: these are all groups.
func (imp *Importer) run(ctx context.Context, parts []group, all bool) error {
	if err := imp.CheckSource(ctx); err != nil {
		return err
	}
	removals, err := imp.planRemovals(ctx, parts)
	if err != nil {
		return err
	}
	if err := imp.NoteSource(ctx); err != nil {
		return err
	}
	if err := imp.Announce(ctx); err != nil {
		return err
	}
	refused, err := imp.Remove(ctx, removals)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := imp.group(ctx, part, all); err != nil {
			return err
		}
	}
	// Other records may no longer refer to the refused ones.
	if err := imp.removeRefused(ctx, refused); err != nil {
		return err
	}
	return imp.finish(ctx, parts, all)
}

// group imports one group.
func (imp *Importer) group(ctx context.Context, part group, all bool) error {
	switch part.Name {
	case attributesGroup:
		return imp.checkAttributes(ctx, all)
	case CredentialsGroup:
		done, err := imp.importCredentials(ctx, credentials.ImportOptions{
			Admins: imp.Options.Admins || all, Replace: imp.Options.Update, DryRun: imp.Options.DryRun, Progress: imp.Options.CredentialsProgress,
			Expected: func(customer adapter.Key) bool { return imp.expected.Has(adapter.Customers, customer) },
		})
		if err == nil {
			imp.Report.Credentials = &done
		}
		return err
	}
	options := imp.ImportOptions()
	if here := part.writtenHere(imp.Options.WrittenHere); imp.Options.Update && len(here) > 0 {
		options.Existing = adapter.KeepExisting
		imp.Report.note("%s that exist stay as they are, and none are removed: Portico answers the writes of %s (setting routes)", part.Name, here[0])
	}
	for _, p := range part.parts {
		if err := imp.importRecords(ctx, p, options); err != nil {
			return fmt.Errorf("%s: %w\nwhat is stored stays; run the command again to continue", p, err)
		}
	}
	return nil
}

// ImportOptions returns the options of imports.
func (imp *Importer) ImportOptions() adapter.ImportOptions {
	o := adapter.ImportOptions{DryRun: imp.Options.DryRun, Expected: imp.expected.Has, Source: imp.Source.Name}
	if imp.Options.Update {
		o.Existing = adapter.ReplaceExisting
	}
	if imp.media != nil {
		o.Content = imp.media.content
	}
	return o
}

// finish adds the findings about the whole shop to the report, and records that the import is
// complete.
func (imp *Importer) finish(ctx context.Context, parts []group, all bool) error {
	slices.SortStableFunc(imp.Report.Resources, func(a, b *Counts) int {
		return slices.Index(magento1.Parts(), magento1.Part(a.Resource)) - slices.Index(magento1.Parts(), magento1.Part(b.Resource))
	})
	if imp.Options.DryRun {
		if err := imp.findEncodedTwice(ctx); err != nil {
			return err
		}
	}
	if imp.media == nil && imp.imagesWithoutFiles(parts) {
		imp.Report.note("images were imported without their files: repeat the command with --media to bring them")
	}
	if all {
		return imp.finishAll(ctx)
	}
	return nil
}

// MissingInVersion says that the legacy store does not have a table or a column.
func MissingInVersion(s magento1.Skipped) string {
	if s.Key != "" {
		return fmt.Sprintf("the legacy store's version does not have the %s of %s: the records have none of its values", s.Key, s.Table)
	}
	return fmt.Sprintf("the legacy store's version does not have the table %s: nothing of it was imported", s.Table)
}

// imagesWithoutFiles reports whether the parts have brought images.
func (imp *Importer) imagesWithoutFiles(parts []group) bool {
	return slices.ContainsFunc(parts, func(p group) bool { return slices.Contains(p.parts, magento1.Images) }) &&
		slices.ContainsFunc(imp.Report.Resources, func(r *Counts) bool { return r.Resource == string(magento1.Images) && r.Read > 0 })
}

// finishAll says when price rules were evaluated, and notes from where in the binary log
// changes may be missing after a complete import.
func (imp *Importer) finishAll(ctx context.Context) error {
	day, err := imp.Legacy.RulesEvaluated(ctx)
	if err != nil {
		return err
	}
	if imp.Report.RulesEvaluated = day; day != "" {
		imp.Report.note("prices of catalogue price rules hold until %s, up to which the legacy store has evaluated them: Portico evaluates no rules", day)
	}
	return imp.noteComplete(ctx)
}

// findEncodedTwice adds texts to the report that look as if they had been encoded twice.
func (imp *Importer) findEncodedTwice(ctx context.Context) error {
	found, err := imp.Legacy.DoublyEncoded(ctx)
	if err != nil {
		return err
	}
	for _, one := range found {
		imp.Report.EncodedTwice = append(imp.Report.EncodedTwice, one.Table+": "+one.Key)
	}
	return nil
}
