package replica

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// A store serves a resource of which the backend owns some attributes.
type store struct {
	*Adapter
	*resourcePlan
}

// maxReadRounds bounds the number of times that one read queries the local replica again after
// it was reconciled.
const maxReadRounds = 8

// List returns the records that a query selects. The local replica selects them; all
// records returned have been compared with the backend.
func (s *store) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	params := *p
	params.Only = s.withRootKey(p.Only)
	isPage := p.Query.Limit > 0 || p.Query.Offset > 0
	return s.read(ctx, s.hidden.Keys(s.root.Resource), isPage, func(excluded []adapter.Key) (*adapter.ListResult, error) {
		params.Query = s.excluding(p.Query, excluded)
		return s.localRecords().Query(ctx, &params)
	})
}

// Get returns one record.
func (s *store) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	params := *p
	params.Only = s.withRootKey(p.Only)
	// No root is excluded: the backend may have the record again.
	found, err := s.read(ctx, nil, false, func([]adapter.Key) (*adapter.ListResult, error) {
		r, err := s.store.Get(ctx, &params)
		return &adapter.ListResult{Records: []adapter.Record{r}}, err
	})
	if err == nil && len(found.Records) == 0 {
		err = notFound("get", s.Resource, p.Key)
	}
	if err != nil {
		return adapter.Record{}, err
	}
	return found.Records[0], nil
}

// withRootKey returns names and, for parts, the attribute that holds the root's key. nil
// stands for all attributes.
func (plan *resourcePlan) withRootKey(names []string) []string {
	if names == nil || plan.isRoot() {
		return names
	}
	return append(slices.Clip(names), plan.rootKey)
}

// A readCheck compares the records of one read with the backend. Each root is compared
// once.
type readCheck struct {
	*store
	exists   map[adapter.Key]bool // whether the backend has a root, for the roots compared
	excluded []adapter.Key        // roots that must not be visible
}

// read queries the local replica until it agrees with the backend in the records found, and
// returns the records that may be visible. A page is queried again if some records must not be
// visible, so that it has its full length.
func (s *store) read(ctx context.Context, hidden []adapter.Key, isPage bool, query func(excluded []adapter.Key) (*adapter.ListResult, error)) (*adapter.ListResult, error) {
	c := &readCheck{store: s, exists: map[adapter.Key]bool{}, excluded: hidden}
	for round := 1; ; round++ {
		found, err := query(c.excluded)
		if err != nil {
			return nil, err
		}
		excluded := len(c.excluded)
		updated, err := c.reconcileRead(ctx, found.Records)
		if err != nil {
			return nil, err
		}
		if round == maxReadRounds || !updated && !(isPage && len(c.excluded) > excluded) {
			found.Records = slices.DeleteFunc(found.Records, func(r adapter.Record) bool { return !c.exists[c.rootKeyOf(r)] })
			return found, nil
		}
	}
}

// reconcileRead compares the roots of records with the backend. It reports whether the local
// replica was stale and has been reconciled.
func (c *readCheck) reconcileRead(ctx context.Context, records []adapter.Record) (updated bool, err error) {
	var keys []adapter.Key
	for _, r := range records {
		key := c.rootKeyOf(r)
		if _, known := c.exists[key]; !known {
			c.exists[key] = false
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return false, nil
	}
	rows, err := c.rowsToCompare(ctx, c.root, keys)
	if err != nil {
		return false, err
	}
	// A record that another read of the same call has compared is compared again only if it was
	// written since.
	shared := adapter.SharedReadsOf(ctx)
	for i := range rows {
		if m := rows[i].mapping; m != nil && m.BackendID != "" && m.Version != "" && (c.root.ReadsLocally || shared.Version(c.root.Resource, m.BackendID) == m.Version) {
			rows[i].doc = &Document{ID: m.BackendID, Version: m.Version}
		}
	}
	if err := c.addDocuments(ctx, c.root, rows); err != nil {
		return false, err
	}
	var outdated, current, changed []adapter.Key
	for i := range rows {
		switch key := rows[i].key; rows[i].state() {
		case inSync:
			c.exists[key] = true
			shared.SetVersion(c.root.Resource, rows[i].doc.ID, rows[i].doc.Version)
			current = append(current, key)
		case missing:
			if c.hidden.Hide(c.root.Resource, key) {
				changed = append(changed, key)
			}
		default: // an unmapped root may be about to get its mapping, and is looked up under its lock
			outdated = append(outdated, key)
		}
	}
	changed = append(changed, c.hidden.Unhide(c.root.Resource, current...)...)
	if err = c.noteChanged(ctx, c.root, changed); err == nil && len(outdated) > 0 {
		updated, err = c.reconcileOutdated(ctx, rows, outdated)
	}
	c.excluded = append(c.excluded, slices.DeleteFunc(keys, func(key adapter.Key) bool { return c.exists[key] })...)
	return updated, err
}

// reconcileOutdated reconciles the roots of rows that are not in sync. It reports whether the
// backend has any of them.
func (c *readCheck) reconcileOutdated(ctx context.Context, rows []row, outdated []adapter.Key) (updated bool, err error) {
	unlock, err := c.locks.Lock(ctx, c.root.Resource, outdated...)
	if err != nil {
		return false, err
	}
	defer unlock()
	reconciled, err := c.reconcileLocked(ctx, c.root, outdated)
	if err != nil {
		return false, err
	}
	for key, m := range reconciled {
		c.exists[key] = true
		if m.Intent == nil { // another process may be writing a root that has an intent
			adapter.SharedReadsOf(ctx).SetVersion(c.root.Resource, m.BackendID, m.Version)
		}
	}
	for i := range rows {
		if rows[i].state() == unmapped && !c.exists[rows[i].key] {
			c.hidden.Hide(c.root.Resource, rows[i].key)
		}
	}
	return len(reconciled) > 0, nil
}
