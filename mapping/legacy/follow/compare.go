package follow

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
)

const (
	// compareWindow is the number of ranges that one step compares while they are unchanged.
	compareWindow = 8
	// fewRemovals is the number of records of one kind that a comparison removes even if
	// they are more than a share of them, unless they are all.
	fewRemovals = 10
)

// A round is one comparison of everything with the legacy store.
type round struct {
	parts  []magento1.Part
	began  time.Time
	period time.Duration // 0: the first round, which takes no breaks
	total  int           // ranges, as far as is known
	done   int
	part   int         // index of the part
	from   adapter.Key // the next key
	width  int
	gone   map[adapter.Resource]*importer.Removal // of the part
	all    []*importer.Removal                    // of the parts before
	found  map[magento1.Part]int                  // records that have differed
}

// A comparison chooses the ranges to compare with the legacy store next, and finds the records that
// are gone there.
type comparison struct {
	imp     *importer.Importer
	log     *slog.Logger
	metrics *Metrics
	round   *round // of everything
	// urgent is a comparison of some parts that goes first, and soon the parts of the next one.
	urgent *round
	soon   []magento1.Part
}

// compareSoon schedules a comparison of all records of a part as soon as possible.
func (c *comparison) compareSoon(p magento1.Part) {
	if !slices.Contains(c.soon, p) {
		c.soon = append(c.soon, p)
	}
}

// hurries reports whether an urgent comparison of some parts is running or scheduled.
func (c *comparison) hurries() bool { return c.urgent != nil || len(c.soon) > 0 }

// newRound begins a round of some parts.
func (c *comparison) newRound(now time.Time, parts ...magento1.Part) *round {
	r := &round{parts: parts, began: now, from: 1, width: 1, gone: map[adapter.Resource]*importer.Removal{}, found: map[magento1.Part]int{}}
	for _, p := range parts {
		r.total++
		if !importer.ReadWhole(p) {
			r.total += int(c.imp.Passed[p.Resources()[0]] / magento1.RangeSize)
		}
	}
	return r
}

// due returns when the next step is due, so that the steps are spread over the period.
func (r *round) due() time.Time {
	if r.period == 0 {
		return r.began
	}
	return r.began.Add(r.period * time.Duration(min(r.done, r.total)) / time.Duration(r.total))
}

// current returns the part that is being compared.
func (r *round) current() magento1.Part { return r.parts[r.part] }

// next returns the round to continue next.
func (c *comparison) next() *round {
	if c.urgent == nil && len(c.soon) > 0 {
		order := magento1.Parts()
		slices.SortFunc(c.soon, func(a, b magento1.Part) int { return slices.Index(order, a) - slices.Index(order, b) })
		c.urgent, c.soon = c.newRound(time.Now(), c.soon...), nil
	}
	if c.urgent != nil {
		return c.urgent
	}
	return c.round
}

// count counts records of a part that differed. The metric counts only rounds over everything:
// urgent rounds follow a message of the legacy store.
func (c *comparison) count(r *round, p magento1.Part, n int) {
	if r.found[p] += n; r == c.round {
		c.metrics.found(p, n)
	}
}

// compareStep compares some ranges, and applies the differences. After the last one of everything
// it begins a new round.
func (s *session) compareStep(ctx context.Context) error {
	if err := s.share(ctx); err != nil {
		return err
	}
	r := s.comparison.next()
	if r.part == len(r.parts) { // its end has failed
		return s.endRound(ctx, r)
	}
	p := r.current()
	if r.done == 0 {
		s.Legacy.Forget()
	}
	b := s.batch(p)
	b.BeforeNotes = func(ctx context.Context, run []*importer.Range, _ adapter.Key) error {
		return s.comparison.findGone(ctx, r, run[0].After, run[len(run)-1].Through, func(resource adapter.Resource, key adapter.Key) bool {
			at := 0
			for at < len(run)-1 && key > run[at].Through {
				at++
			}
			return run[at].Keys.Has(resource, key)
		})
	}
	clear(s.Unchanged)
	ranges := importer.RangesFrom(p, r.from, r.width)
	read := b.Done.Read
	next, err := b.ImportRanges(ctx, ranges)
	if err == nil && !importer.ReadWhole(p) {
		err = s.comparison.skipGap(ctx, r, ranges[len(ranges)-1].Through, next)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	found := b.counts[adapter.ImportCreated] + b.counts[adapter.ImportChanged]
	s.comparison.count(r, p, found)
	if r.width = min(2*r.width, compareWindow); b.Done.Read > read {
		r.width = 1
	}
	s.created = nil // whose images are compared next
	if err := b.finish(ctx); err != nil {
		return err
	}
	r.done += len(ranges)
	if r.from = next; next != 0 && !importer.ReadWhole(p) {
		return nil
	}
	return s.endPart(ctx, r)
}

// skipGap handles the keys after the ranges of a step of which the legacy store has no records.
func (c *comparison) skipGap(ctx context.Context, r *round, after, next adapter.Key) error {
	p := r.current()
	end := importer.LastKey
	if next > 0 {
		end = importer.RangeOf(p, next).After
	}
	if err := c.imp.ForgetDigests(ctx, p, after, end); err != nil {
		return err
	}
	return c.findGone(ctx, r, after, end, func(adapter.Resource, adapter.Key) bool { return false })
}

// findGone marks the imported records in (after, through] that the legacy store no longer has.
func (c *comparison) findGone(ctx context.Context, r *round, after, through adapter.Key, has func(adapter.Resource, adapter.Key) bool) error {
	p := r.current()
	if p == magento1.Images || c.imp.Options.Keeps(p) {
		return nil
	}
	for _, resource := range p.Resources() {
		gone := r.gone[resource]
		if gone == nil {
			gone = &importer.Removal{Part: p, Resource: resource}
			r.gone[resource] = gone
		}
		err := c.imp.EachNoted(ctx, resource, after, through, func(key adapter.Key) error {
			gone.Add(key, has(resource, key))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// endPart ends the comparison of a part.
func (s *session) endPart(ctx context.Context, r *round) error {
	p := r.current()
	for _, resource := range p.Resources() {
		if gone := r.gone[resource]; gone != nil && gone.Gone > 0 {
			believed, err := s.comparison.believes(ctx, gone)
			if err != nil {
				return err
			}
			if believed {
				r.all = append(r.all, gone)
				s.comparison.count(r, p, len(gone.Keys))
			}
		} else {
			s.f.o.Metrics.held(resource, 0)
		}
	}
	clear(r.gone)
	r.from, r.width = 1, 1
	if r.part++; r.part < len(r.parts) {
		return nil
	}
	return s.endRound(ctx, r)
}

// believes reports whether it is plausible that so many records are gone. If not, none are removed,
// and the owner is notified.
func (c *comparison) believes(ctx context.Context, gone *importer.Removal) (bool, error) {
	gone.Noted = 0
	err := c.imp.EachNoted(ctx, gone.Resource, -1, importer.LastKey, func(adapter.Key) error {
		gone.Noted++
		return nil
	})
	if err != nil {
		return false, err
	}
	if gone.Gone <= fewRemovals && gone.Gone < gone.Noted && c.imp.Options.AllowRemovals < 0 {
		return true, nil
	}
	if err := c.imp.CheckRemovals([]*importer.Removal{gone}); err != nil {
		c.metrics.held(gone.Resource, gone.Gone)
		c.log.Error("records are not removed: "+err.Error()+" to portico import --update, or to portico follow", "part", gone.Part, "gone", gone.Gone, "imported", gone.Noted)
		return false, nil
	}
	return true, nil
}

// endRound removes the records that are gone, and begins the next round.
func (s *session) endRound(ctx context.Context, r *round) error {
	removed := s.Report.Removed()
	named := changes{}
	var whole []*importer.Removal
	for _, gone := range r.all {
		if hasKeys(gone.Part) {
			named.add(gone.Part, gone.Keys...) // whose present state counts
		} else {
			whole = append(whole, gone)
		}
	}
	if err := s.apply(ctx, named); err != nil {
		return err
	}
	if err := s.removeGone(ctx, whole); err != nil {
		return err
	}
	if r == s.comparison.urgent {
		s.comparison.urgent = nil
		return s.storePosition(ctx)
	}
	now := time.Now()
	s.behind = false
	if err := s.compareSettings(ctx); err != nil {
		return err
	}
	s.f.o.Metrics.compared(now, now.Sub(r.began))
	total := 0
	for _, n := range r.found {
		total += n
	}
	s.log.Info("everything was compared with the legacy store", "took", now.Sub(r.began).Round(time.Millisecond), "found", total, "removed", s.Report.Removed()-removed)
	s.credentials.digest = "" // some owners may have come
	s.comparison.round = s.comparison.newRound(now, magento1.Parts()...)
	s.comparison.round.period = s.f.o.ComparePeriod
	return s.storePosition(ctx)
}

// compareSettings logs the settings that have changed in the legacy store: the follower does not
// change Portico's settings.
func (s *session) compareSettings(ctx context.Context) error {
	found, err := s.Legacy.Settings(ctx)
	if err != nil {
		return err
	}
	now := map[string]string{}
	for _, one := range found {
		switch {
		case one.Name == "":
		case one.Attribute != nil || one.Fields != nil: // one of several entries of a table
			now[one.Name+" from "+one.From] = one.Value
		default:
			now[one.Name] = one.Value
		}
	}
	before := s.f.settings
	if s.f.settings = now; before == nil {
		for _, one := range importer.MissingSettings(s.Options.Lists, s.Options.From.Schemas, found) {
			s.log.Warn("the legacy store uses what the configuration lacks: see portico import attributes", "setting", one.Setting, "lacking", one.Lacking)
		}
		return nil
	}
	both := maps.Clone(before)
	maps.Copy(both, now)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if was, is := before[name], now[name]; was != is {
			s.f.o.Metrics.settings.Inc()
			s.log.Warn("the legacy store has changed a setting: change the configuration likewise and restart or reload Portico", "line", name+": "+is, "was", was)
		}
	}
	return nil
}
