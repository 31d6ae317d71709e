package follow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// maxSeen is the number of dated changes of one part that a poll applies one by one, and remembers.
// If there are more, the part is compared instead.
const maxSeen = 100_000

// changes are the keys of records that may have changed, by part.
type changes map[magento1.Part]map[adapter.Key]bool

func (c changes) add(p magento1.Part, keys ...adapter.Key) {
	if c[p] == nil {
		c[p] = map[adapter.Key]bool{}
	}
	for _, key := range keys {
		c[p][key] = true
	}
}

// poll applies the records that the legacy store has dated as changed since the last poll. Dates
// are precise to a second, and the transaction that sets one may commit later. So a poll looks back
// by the overlap: it reads a record when it first sees its date, and once more when the date leaves
// the overlap.
func (s *session) poll(ctx context.Context) error {
	now, err := s.Legacy.Now(ctx)
	if err != nil {
		return err
	}
	last := s.polled
	if last == "" {
		last = now // the first comparison finds the earlier changes
	}
	since, err := before(last, s.f.o.Overlap)
	if err != nil {
		return err
	}
	for _, p := range magento1.Parts() {
		if !magento1.HasChangeTimes(p) {
			continue
		}
		if err := s.pollPart(ctx, p, since, now); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	s.polled = now
	return nil
}

// before returns the time that is so long before a time of the legacy store's database.
func before(now string, by time.Duration) (string, error) {
	at, err := time.Parse(time.DateTime, now)
	if err != nil {
		return "", fmt.Errorf("the clock of the old database says %q: %w", now, err)
	}
	return at.Add(-by).Format(time.DateTime), nil
}

// pollPart is poll for the records of one part.
func (s *session) pollPart(ctx context.Context, p magento1.Part, since, now string) error {
	since = max(since, s.burst[p])
	before, seen := s.seen[p], map[adapter.Key]string{}
	var fresh []adapter.Key
	for after := adapter.Key(-1); ; {
		page, err := s.Legacy.ChangedSince(ctx, p, since, after)
		if err != nil {
			return err
		}
		for _, one := range page {
			if after = one.Key; before[one.Key] != one.At {
				fresh = append(fresh, one.Key)
			}
			seen[one.Key] = one.At
		}
		if len(seen) > s.f.maxSeen {
			s.log.Info("the legacy store has changed so many records that they are compared instead", "part", p)
			s.comparison.compareSoon(p)
			s.seen[p], s.burst[p] = nil, now
			return nil
		}
		if len(page) < magento1.ChangedPage {
			break
		}
	}
	for key := range before {
		if _, still := seen[key]; !still {
			fresh = append(fresh, key) // once more
		}
	}
	slices.Sort(fresh)
	for keys := range slices.Chunk(fresh, magento1.MaxKeys) {
		named, err := s.withRelated(ctx, p, keys)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, named); err != nil {
			return err
		}
	}
	s.seen[p] = seen
	return nil
}

// withRelated returns changed records with the related records that have no date of their own: the
// images and the stock item of a product, the addresses of a customer, and the products of an order
// with their stock items.
func (s *session) withRelated(ctx context.Context, p magento1.Part, keys []adapter.Key) (changes, error) {
	named := changes{}
	named.add(p, keys...)
	switch p {
	case magento1.Customers:
		return named, s.addRelated(ctx, named, magento1.Addresses, p)
	case magento1.Orders:
		if err := s.addRelated(ctx, named, magento1.Products, p); err != nil {
			return nil, err
		}
	case magento1.Products:
		named.add(magento1.Images, keys...)
	}
	return named, s.addRelated(ctx, named, magento1.Stock, magento1.Products)
}

// addRelated adds the records of part p that change along with named records of another part.
func (s *session) addRelated(ctx context.Context, named changes, p, of magento1.Part) error {
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(named[of])), magento1.MaxKeys) {
		found, err := s.Legacy.KeysOf(ctx, p, of, keys...)
		if err != nil {
			return err
		}
		named.add(p, found...)
	}
	return nil
}
