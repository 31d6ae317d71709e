package reststore

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// A watch is a paged list of small documents that show changes of root documents which a scan with $since does
// not find, such as the stock of products. Several of them may have the id of one root document. A pass reads the
// list, and fetches the root documents whose entries have changed since the pass before.
type watch struct {
	documentRequest
	ID    jsonPath      `need:"true"` // place of the id of the root document in an entry
	Every time.Duration `default:"5m" range:"1s 24h"`

	mu     sync.Mutex        // held during a pass
	failed bool              // the last pass failed, and a warning was logged
	passed time.Time         // when the last successful pass began; zero before
	seed   maphash.Seed      // of the hashes
	hashes map[string]uint64 // by id: the sum of the hashes of its entries at the last successful pass
}

// maxWatched limits the number of ids that a watch remembers. They take about 80 bytes each.
const maxWatched = 1 << 20

// watchedBatch is the number of root documents that are fetched before they are passed on.
const watchedBatch = 100

// watch makes the passes of a root that are due, before a scan. It logs their failures, which the scan does not
// depend on, and returns the error of found.
func (b *Backend) watch(ctx context.Context, r *resource, scansAll bool, found func([]replica.Document) error) (err error) {
	for _, w := range r.Watch {
		w.mu.Lock()
		failure := b.pass(ctx, r, w, scansAll, func(documents []replica.Document) error {
			err = found(documents)
			return err
		})
		if failure != nil && err == nil && ctx.Err() == nil && !w.failed {
			b.log.WarnContext(ctx, "changes that watch would show are not found; each scan tries again", "resource", r.name, "error", failure)
		}
		w.failed = failure != nil
		w.mu.Unlock()
		if err != nil || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
	}
	return nil
}

// pass makes a pass if it is due. After an error, the next call repeats it: the entries of the pass before remain.
// A scan of all documents needs no changes: there, the first pass only remembers the entries, before the scan, so that
// no change is missed between both, and later passes leave the older entries as they are. If a later scan makes the
// first pass, because earlier ones failed, all entries count as changes.
func (b *Backend) pass(ctx context.Context, r *resource, w *watch, scansAll bool, found func([]replica.Document) error) error {
	isFirst, now := w.passed.IsZero(), time.Now()
	if !isFirst && (scansAll || now.Sub(w.passed) < w.Every) {
		return nil
	}
	if isFirst {
		w.seed = maphash.MakeSeed()
	}
	k := call{string(r.name), "watch"}
	hashes, err := b.watched(ctx, k, w)
	if err != nil {
		return readError(ctx, k.op(), err)
	}
	if !scansAll {
		for ids := range slices.Chunk(changedIDs(w.hashes, hashes), watchedBatch) {
			if err := b.passOn(ctx, r, k, ids, found); err != nil {
				return err
			}
		}
	}
	w.passed, w.hashes = now, hashes
	return nil
}

// passOn fetches root documents and passes those on that are records of the contract.
func (b *Backend) passOn(ctx context.Context, r *resource, k call, ids []string, found func([]replica.Document) error) error {
	fetch := *r.Fetch
	fetch.Where = r.Scan.Where
	documents, err := b.fetchDocuments(ctx, r, k, &fetch, ids)
	if err != nil {
		return err
	}
	documents = slices.DeleteFunc(documents, func(d replica.Document) bool {
		_, asked := slices.BinarySearch(ids, d.ID)
		return d.Read == nil || !asked
	})
	if len(documents) == 0 {
		return nil
	}
	return found(documents)
}

// watched reads the list of a watch, and returns the sum of the hashes of the entries by id. It needs no complete
// list: an entry that pages lack, or have twice, counts as a change.
func (b *Backend) watched(ctx context.Context, k call, w *watch) (map[string]uint64, error) {
	hashes := map[string]uint64{}
	p := &pager{pages: w.Pages, listing: replica.NewListing()}
	for more := true; more; {
		m, err := b.client.prepare(ctx, k, &w.request, nil)
		if err != nil {
			return nil, err
		}
		p.addTo(m)
		resp, err := b.client.sendWithRetry(ctx, m)
		if err != nil {
			return nil, err
		}
		entries, err := b.client.documents(ctx, &w.documentRequest, resp, w.ID)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			if err := b.client.meaning(ctx, resp); err != nil {
				return nil, err
			}
		}
		ids := make([]string, len(entries))
		for i, e := range entries {
			ids[i] = e.id
		}
		if more, err = p.advance(resp.body, ids); err != nil {
			return nil, b.client.unusableDocuments(ctx, resp, err)
		}
		if p.repeated {
			continue
		}
		for _, e := range entries {
			if e.id == "" {
				return nil, b.client.unusableDocuments(ctx, resp, fmt.Errorf("an entry has no id at %s", w.ID))
			}
			hashes[strings.Clone(e.id)] += maphash.Bytes(w.seed, e.raw)
		}
		if len(hashes) > maxWatched {
			return nil, &adapter.Error{Kind: adapter.Internal, Op: k.op(), Err: fmt.Errorf("%s: the list has more than %d ids: let the query select fewer", w.request.at, maxWatched)}
		}
	}
	return hashes, nil
}

// changedIDs returns the ids that have another hash than before, or are in one of both alone, sorted.
func changedIDs(before, after map[string]uint64) (changed []string) {
	for id, hash := range after {
		if old, had := before[id]; !had || old != hash {
			changed = append(changed, id)
		}
	}
	for id := range before {
		if _, has := after[id]; !has {
			changed = append(changed, id)
		}
	}
	slices.Sort(changed)
	return changed
}

func (w *watch) check(l *loader, p place) {
	w.documentRequest.check(l, p)
	l.Require(w.Pages != nil, p, "needs pages, such as {offset: offset, limit: limit, size: 100}")
}

// checkWatch checks the watches of a root.
func (l *loader) checkWatch(p place, r *resource) {
	l.Require(len(r.Watch) == 0 || r.Scan == nil || r.Scan.mentions("$since"), p.In("watch"), "needs a scan that uses $since: other scans read all documents")
	l.Require(len(r.Watch) == 0 || r.Version == nil, p.In("version"), "must not be used together with watch: what is watched changes without it")
}

// mentions reports whether an expression of the request uses a variable.
func (r *request) mentions(variable string) bool {
	all := []*expression{r.Body}
	if r.Path != nil && r.GraphQL == nil {
		all = append(all, &r.Path.expression)
	}
	for _, e := range r.Query {
		all = append(all, e)
	}
	for _, e := range r.Variables {
		all = append(all, e)
	}
	for _, h := range r.Headers {
		all = append(all, &h.expression)
	}
	return slices.ContainsFunc(all, func(e *expression) bool { return e != nil && strings.Contains(e.text, variable) })
}
