package replica

import (
	"context"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// A store is that of a resource of which the backend keeps something.
type store struct {
	*Adapter
	*resourcePlan
}

// rounds bounds how often the side is asked for one call, while what it knows is
// brought up to date.
const maxReadRounds = 8

// List returns the records a query selects. The side selects them by what it knows;
// what is returned has been compared with the backend.
func (s *store) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	if err := s.checkOpen("list " + string(s.Resource)); err != nil {
		return nil, err
	}
	wanted := *p
	if p.Only != nil && !s.isRoot() {
		wanted.Only = append(slices.Clip(p.Only), s.RootAttribute)
	}
	c := s.newReadCheck()
	for round := 1; ; round++ {
		wanted.Query = s.excluding(p.Query, c.excluded)
		found, err := s.listReplica(ctx, &wanted)
		if err != nil || p.Count && !found.Partial {
			return found, err
		}
		behind, out, err := c.reconcileRead(ctx, found.Records)
		if err != nil {
			return nil, err
		}
		if round < maxReadRounds && (behind || out && (p.Query.Limit > 0 || p.Query.Offset > 0)) {
			continue // for a page that is as long as it should be
		}
		found.Records = slices.DeleteFunc(found.Records, func(r adapter.Record) bool { return !c.visible(r) })
		return found, nil
	}
}

// find asks the side, and finishes what it leaves to be done, so that no more is
// compared than what is returned.
func (s *store) listReplica(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	found, err := s.store.List(ctx, p)
	if err != nil || !found.Partial {
		return found, err
	}
	page, total, err := adapter.Apply(ctx, s.schema, found.Records, &p.Query)
	switch {
	case adapter.KindOf(err) == adapter.Invalid && err != nil:
		return found, nil // it is as wrong for who gets the records
	case err != nil:
		return nil, err
	case p.Count:
		return &adapter.ListResult{Total: total}, nil
	default:
		return &adapter.ListResult{Records: page}, nil
	}
}

// Get returns one record.
func (s *store) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	if err := s.checkOpen("get " + string(s.Resource)); err != nil {
		return adapter.Record{}, err
	}
	wanted := *p
	if p.Only != nil && !s.isRoot() {
		wanted.Only = append(slices.Clip(p.Only), s.RootAttribute)
	}
	c := s.newReadCheck()
	c.excluded = nil // it may be back
	for round := 1; ; round++ {
		r, err := s.store.Get(ctx, &wanted)
		if err != nil {
			return adapter.Record{}, err
		}
		behind, _, err := c.reconcileRead(ctx, []adapter.Record{r})
		switch {
		case err != nil:
			return adapter.Record{}, err
		case behind && round < maxReadRounds:
			continue
		case !c.visible(r):
			return adapter.Record{}, notFound("get", s.Resource, p.Key)
		default:
			return r, nil
		}
	}
}

// A comparison is that of the records of one call with the backend. A root is
// compared once.
type readCheck struct {
	*store
	exists   map[adapter.Key]bool // roots that were compared: whether the backend has them
	excluded []adapter.Key        // roots that are not to be seen
	started  createState
}

func (s *store) newReadCheck() *readCheck {
	return &readCheck{store: s, exists: map[adapter.Key]bool{}, excluded: s.hidden.keys(s.root.Resource), started: s.hidden.createState()}
}

// check compares the roots of records. behind reports that the side was not up to
// date, and now is; out that there are roots that are not to be seen.
func (c *readCheck) reconcileRead(ctx context.Context, records []adapter.Record) (behind, out bool, err error) {
	var keys []adapter.Key
	for _, r := range records {
		key := c.rootKeyOf(r)
		if _, known := c.exists[key]; !known {
			c.exists[key] = false
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return false, false, nil
	}
	standings, err := c.syncStates(ctx, c.root, keys)
	if err != nil {
		return false, false, err
	}
	var late, agreeing []adapter.Key
	for _, key := range keys {
		switch standings[key] {
		case inSync:
			c.exists[key] = true
			agreeing = append(agreeing, key)
		case stale, pending:
			late = append(late, key)
		default:
			c.excluded, out = append(c.excluded, key), true
			c.hidden.hide(c.root.Resource, key, c.started, standings[key] == missing)
		}
	}
	c.hidden.unhide(c.root.Resource, agreeing...)
	if len(late) == 0 {
		return false, out, nil
	}
	there, err := c.reconcileRoots(ctx, c.root, late)
	if err != nil {
		return false, out, err
	}
	for _, key := range late {
		_, ok := there[key]
		c.exists[key] = ok
		if ok {
			behind = true
		} else {
			c.excluded, out = append(c.excluded, key), true
		}
	}
	return behind, out, nil
}

// shown reports whether a record that was compared may be seen.
func (c *readCheck) visible(r adapter.Record) bool { return c.exists[c.rootKeyOf(r)] }
