package importer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/rules/imports"
)

// BatchSize is the number of records that one transaction stores.
const BatchSize = 100

// importRecords imports the records of one part of the legacy store, range by range of their keys.
func (imp *Importer) importRecords(ctx context.Context, p magento1.Part, o adapter.ImportOptions) error {
	total, err := imp.Legacy.Count(ctx, p)
	if err != nil {
		return err
	}
	b := imp.NewBatch(p, o)
	imp.Current = b.Done
	defer func() { imp.Current = nil }()
	if imp.Options.Progress != nil {
		b.progress = imp.Options.Progress(p, total)
	}
	defer b.progress.Finish(b.Done)
	from, width := adapter.Key(1), 1
	for from != 0 {
		ranges := RangesFrom(p, from, width)
		end := ranges[len(ranges)-1]
		next, err := b.ImportRanges(ctx, ranges)
		if err != nil {
			return err
		}
		if ReadWhole(p) {
			return nil
		}
		// The legacy store has no records in the gap, so that digests there are no longer valid.
		gap := LastKey
		if next > 0 {
			gap = RangeOf(p, next).After
		}
		if err := imp.ForgetDigests(ctx, p, end.Through, gap); err != nil {
			return err
		}
		from, width = next, min(2*width, maxWindow)
	}
	return nil
}

// A Batch collects records until there are enough for a transaction.
type Batch struct {
	imp      *Importer
	Part     magento1.Part
	Options  adapter.ImportOptions
	Done     *Counts
	progress Progress
	records  []adapter.Aggregate
	ranges   []*Range        // the range of each record
	pending  []*pendingBatch // in the order in which they were read
	// Refused is called for each record that cannot be stored.
	Refused func(Refusal)
	// Stored is called for each record that is stored. It may be nil.
	Stored func(adapter.Aggregate, adapter.ImportOutcome)
	// WithoutFile is called with the number of images whose files are missing. It may be nil.
	WithoutFile func(n int)
	// BeforeNotes is called for a run of which all records are stored, before its digests
	// are noted. nil: there is nothing to do.
	BeforeNotes func(ctx context.Context, run []*Range, next adapter.Key) error
	// Keeps: a record that exists here may differ from the legacy store's record.
	Keeps bool
}

// NewBatch returns a batch for the records of a part. It shows no progress, and counts the records
// that cannot be stored.
func (imp *Importer) NewBatch(p magento1.Part, o adapter.ImportOptions) *Batch {
	done := imp.Report.Records(p)
	return &Batch{imp: imp, Part: p, Options: o, Done: done, progress: silent{}, Refused: func(r Refusal) { done.Skip(r.Reason, int64(r.Record.Record.Key())) }}
}

// silent shows no progress.
type silent struct{}

// Set does nothing.
func (silent) Set(int64) {}

// Finish does nothing.
func (silent) Finish(*Counts) {}

// A Refusal says that a record cannot be stored, and why.
type Refusal struct {
	Record adapter.Aggregate
	Reason string // for people
	Err    error
}

// ImportRanges imports the records of adjacent ranges, except unchanged ranges. next is a key of
// the next range that may have records, 0 for none.
func (b *Batch) ImportRanges(ctx context.Context, ranges []*Range) (next adapter.Key, err error) {
	if err := b.imp.setDigests(ctx, b.Part, ranges); err != nil {
		return 0, err
	}
	for _, r := range ranges {
		if r.unchanged = r.unchanged && b.imp.Options.Update; r.unchanged {
			b.Done.UnchangedRanges++
		}
	}
	next = ranges[len(ranges)-1].Through + 1
	for _, run := range changedRuns(ranges) {
		last := run[len(run)-1]
		if err := b.imp.ForgetDigests(ctx, b.Part, run[0].After, last.After+1); err != nil {
			return 0, err
		}
		behind, err := b.importRun(ctx, run)
		if err != nil {
			return 0, err
		}
		if last == ranges[len(ranges)-1] {
			next = behind
		}
	}
	return next, nil
}

// importRun imports the records of a run of ranges, and records the digests of the complete ones.
// next is as in eachRecord.
func (b *Batch) importRun(ctx context.Context, run []*Range) (next adapter.Key, err error) {
	defer b.drain()
	noted := 0
	note := func(through int) error {
		for ; noted < through; noted++ {
			if err := b.imp.noteDigest(ctx, b.Part, run[noted]); err != nil {
				return err
			}
			run[noted].Keys = nil
		}
		return nil
	}
	next, err = b.imp.eachRecord(ctx, b.Part, run, func(r *Range, one adapter.Aggregate) error {
		if r.Keys == nil {
			r.Keys = resourceKeys{}
		}
		r.Keys.add(one.Record.Schema.Resource, one.Record.Key())
		r.read++
		b.records, b.ranges = append(b.records, one), append(b.ranges, r)
		if len(b.records) < BatchSize {
			return nil
		}
		if err := b.flush(ctx); err != nil {
			return err
		}
		if b.BeforeNotes != nil {
			return nil
		}
		if len(b.pending) > 0 {
			r = b.pending[0].ranges[0]
		}
		return note(slices.Index(run, r)) // records of r may follow
	})
	if err != nil {
		return 0, err
	}
	if err := b.flush(ctx); err != nil {
		return 0, err
	}
	if err := b.await(ctx, 0); err != nil {
		return 0, err
	}
	if b.BeforeNotes != nil {
		if err := b.BeforeNotes(ctx, run, next); err != nil {
			return 0, err
		}
	}
	return next, note(len(run))
}

// maxTransactions is the number of transactions that store records of a part at once.
const maxTransactions = 2

// transactions returns the number of transactions that may store records of the part at once: one if a batch needs
// what the batch before it has done, as with parents of categories, files of images, the expected records of a dry run
// and the records of a backend, or if BeforeNotes looks at the records of a run.
func (b *Batch) transactions() int {
	if ReadWhole(b.Part) || b.imp.media != nil || b.imp.joined != nil || b.Options.DryRun || b.BeforeNotes != nil {
		return 1
	}
	return maxTransactions
}

// A pendingBatch is being stored in a transaction.
type pendingBatch struct {
	records  []adapter.Aggregate
	ranges   []*Range
	unique   map[string]bool    // the values that no other record may have
	outcomes []adapter.Imported // these and err are set before ended is closed
	err      error
	ended    chan struct{}
}

// flush stores the records that were collected, or begins to, if there may be several transactions. Of records in
// neighbouring batches that have the same unique values, the one that was read first is stored, as if there were one
// transaction at a time.
func (b *Batch) flush(ctx context.Context) error {
	s := &pendingBatch{records: b.records, ranges: b.ranges, unique: map[string]bool{}, ended: make(chan struct{})}
	b.records, b.ranges = nil, nil
	if len(s.records) == 0 {
		return nil
	}
	if b.transactions() == 1 {
		err := b.Store(ctx, s.records, s.ranges)
		if err == nil {
			b.countRead(s)
		}
		return err
	}
	for _, one := range s.records {
		if values := imports.UniqueValues(one.Record); values != "" {
			s.unique[values] = true
		}
	}
	if slices.ContainsFunc(b.pending, s.sharesValues) {
		if err := b.await(ctx, 0); err != nil {
			return err
		}
	}
	b.pending = append(b.pending, s)
	go func() {
		defer close(s.ended)
		s.outcomes, s.err = b.imp.Target().Import(ctx, s.records, b.Options)
	}()
	// With two cores, reading a third batch before the first one is stored takes longer.
	return b.await(ctx, maxTransactions-1)
}

// countRead shows that the records of a batch are done.
func (b *Batch) countRead(s *pendingBatch) {
	b.Done.Read += int64(len(s.records))
	b.progress.Set(b.Done.Read)
}

// sharesValues reports whether a record of s has the unique values of a record of another batch.
func (s *pendingBatch) sharesValues(other *pendingBatch) bool {
	for values := range s.unique {
		if other.unique[values] {
			return true
		}
	}
	return false
}

// await waits until at most a number of batches are pending. It settles the others in the order in which they were read.
func (b *Batch) await(ctx context.Context, most int) error {
	for len(b.pending) > most {
		s := b.pending[0]
		<-s.ended
		b.pending = b.pending[1:]
		if err := b.settle(ctx, s.records, s.ranges, s.outcomes, s.err); err != nil {
			return err
		}
		b.countRead(s)
	}
	return nil
}

// drain waits for the pending batches of a run that has failed, and counts the records that they have stored.
func (b *Batch) drain() {
	for _, s := range b.pending {
		if <-s.ended; s.err == nil {
			b.tallyAll(s.records, s.ranges, s.outcomes)
			b.countRead(s)
		}
	}
	b.pending, b.records, b.ranges = nil, nil, nil
}

// Store stores a batch in one transaction. If that fails because of a record, Store stores the
// halves of the batch in transactions of their own. A record that cannot be stored is stored without
// the parts and values that keep it from that, or is refused.
func (b *Batch) Store(ctx context.Context, batch []adapter.Aggregate, ranges []*Range) error {
	if len(batch) == 0 {
		return nil
	}
	if b.imp.media != nil {
		b.imp.media.expect(batch)
	}
	outcomes, err := b.imp.Target().Import(ctx, batch, b.Options)
	return b.settle(ctx, batch, ranges, outcomes, err)
}

// settle counts the outcomes of a batch that was stored, and stores a batch that was not by smaller ones.
func (b *Batch) settle(ctx context.Context, batch []adapter.Aggregate, ranges []*Range, outcomes []adapter.Imported, err error) error {
	if err == nil {
		b.tallyAll(batch, ranges, outcomes)
		return nil
	}
	reason, passing, skippable := SkipReason(b.Part, err)
	switch {
	case !skippable:
		return err
	case len(batch) == 1:
		stored, refusal, salvageErr := b.storeRest(ctx, batch[0], ranges[0])
		if stored || salvageErr != nil {
			return salvageErr
		}
		if refusal != nil {
			err = refusal
			reason, passing, _ = SkipReason(b.Part, err)
		}
		b.Refused(Refusal{batch[0], reason, err})
		ranges[0].incomplete = ranges[0].incomplete || passing
		return nil
	}
	half := len(batch) / 2
	if err := b.Store(ctx, batch[:half], ranges[:half]); err != nil {
		return err
	}
	return b.Store(ctx, batch[half:], ranges[half:])
}

// storeRest stores a record that cannot be stored as it is without the parts and values that
// prevent that, and reports whether it succeeded. refusal is the error that refuses the record even
// without its parts and optional values, if one does.
func (b *Batch) storeRest(ctx context.Context, one adapter.Aggregate, r *Range) (stored bool, refusal, err error) {
	fit, left, ok, err := b.salvage(ctx, one)
	if err != nil {
		return false, nil, err
	}
	if !ok {
		return false, left.refusal, nil
	}
	outcomes, err := b.imp.Target().Import(ctx, []adapter.Aggregate{fit}, b.Options)
	if err != nil {
		if _, _, skippable := SkipReason(b.Part, err); skippable { // another process has been faster
			return false, nil, nil
		}
		return false, nil, err
	}
	for _, what := range left.bad {
		b.Done.leaveOut(what.reason, what.key)
		b.imp.LeftOut(what.key, what.reason)
	}
	r.incomplete = r.incomplete || left.passing
	b.tallyAll([]adapter.Aggregate{fit}, []*Range{r}, outcomes)
	return true, nil, nil
}

// tallyAll counts the outcomes of a batch, and the files that it has missed.
func (b *Batch) tallyAll(batch []adapter.Aggregate, ranges []*Range, outcomes []adapter.Imported) {
	for i, one := range outcomes {
		if one.Err != nil {
			b.Refused(Refusal{batch[i], backendReason(one.Err), one.Err})
			ranges[i].incomplete = true
			continue
		}
		b.tally(batch[i], ranges[i], one)
	}
	b.tallyFiles(ranges)
}

// tally counts the outcome of one record.
func (b *Batch) tally(one adapter.Aggregate, r *Range, done adapter.Imported) {
	b.Done.Count(done.Outcome)
	if done.Pending || done.Outcome == adapter.ImportKept && !b.Keeps { // it may differ from the legacy store's record
		r.incomplete = true
	}
	if b.Stored != nil {
		b.Stored(one, done.Outcome)
	}
	if b.Options.DryRun {
		b.imp.expected.add(one.Record.Schema.Resource, one.Record.Key())
	}
}

// backendReason returns why a record cannot be changed or removed at the backend.
func backendReason(err error) string {
	var known *adapter.Error
	if !errors.As(err, &known) {
		return "the backend refuses it"
	}
	switch {
	case known.Kind == adapter.NotFound:
		return "the backend no longer has it, or may be creating it: see portico ids check"
	case known.Kind == adapter.Unsupported:
		return "the backend does not accept such a change"
	case known.Kind == adapter.Unavailable:
		return "another process has changed it meanwhile"
	case known.Field != "":
		return "the backend refuses its " + known.Field
	default:
		return "the backend refuses it"
	}
}

// tallyFiles counts the files that the last transaction has missed.
func (b *Batch) tallyFiles(ranges []*Range) {
	if b.imp.media == nil {
		return
	}
	missing := b.imp.media.take()
	for _, file := range slices.Sorted(maps.Keys(missing)) {
		b.Done.leaveOut(missing[file], file)
	}
	if len(missing) > 0 {
		if b.WithoutFile != nil {
			b.WithoutFile(len(missing))
		}
		for _, r := range ranges {
			r.incomplete = true // they may come
		}
	}
}

// SkipReason returns why a record of a part cannot be stored. passing: the reason may pass, even if
// the legacy store does not change the record. skippable is false if err is not caused by the
// record, so that the import must stop.
func SkipReason(p magento1.Part, err error) (reason string, passing, skippable bool) {
	var storeErr *adapter.Error
	if !errors.As(err, &storeErr) {
		return "", false, false
	}
	switch {
	case storeErr.Kind == adapter.NotFound && p == magento1.Images:
		return "its product is not here", true, true
	case storeErr.Kind == adapter.NotFound && storeErr.Field != "":
		return "its " + referred(storeErr.Field) + " is not here", true, true
	case storeErr.Kind == adapter.Conflict && storeErr.Field == "email":
		return "another customer of the website has the e-mail address", true, true
	case storeErr.Kind == adapter.Conflict && storeErr.Field == "sku":
		return "another product has the SKU", true, true
	case storeErr.Kind == adapter.Conflict && storeErr.Field != "":
		return "a part has an id that is taken here", true, true
	case storeErr.Kind == adapter.Conflict:
		return "another record has what must be its own", true, true
	case storeErr.Kind == adapter.Invalid && storeErr.Field == "store_id":
		return "it has values at a store view that is not here", true, true
	case storeErr.Kind == adapter.Invalid && storeErr.Field != "":
		return "no " + storeErr.Field + " that can be stored", false, true
	case storeErr.Kind == adapter.Invalid:
		return "a value that cannot be stored", false, true
	default:
		return "", false, false
	}
}

// referred returns the noun, for people, of the record that an attribute refers to.
func referred(attribute string) string {
	switch attribute {
	case "parent_id":
		return "parent"
	case "group_id":
		return "customer group"
	case "store_id":
		return "store view"
	default: // website_id, category_id, product_id, customer_id
		return strings.TrimSuffix(attribute, "_id")
	}
}
