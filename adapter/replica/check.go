package replica

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// A Finding is one thing that side, ledger and backend do not agree on.
type Finding struct {
	Kind     FindingKind      `json:"what"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"legacy_id,omitempty"`  // 0 when there is none
	ID       string           `json:"backend_id,omitempty"` // "" when there is none
	Detail   string           `json:"detail,omitempty"`
}

// A FindingKind says what is wrong.
type FindingKind string

const (
	// NotMapped: a record of the side has no entry, so that callers do not see it.
	NotMapped FindingKind = "not_mapped"
	// NoBackendID: an entry has no id of the backend, and nobody is about to give it one.
	NoBackendID FindingKind = "no_backend_id"
	// MissingAtBackend: the backend has no record any more for an entry.
	MissingAtBackend FindingKind = "gone_at_backend"
	// MissingInReplica: the local replica has no record any more for an entry.
	MissingInReplica FindingKind = "gone_at_side"
	// NoLegacyID: a record of the backend has no entry, so that callers do not see it.
	NoLegacyID FindingKind = "no_legacy_id"
	// Duplicate: a record of the backend carries the legacy id of another.
	DuplicateLegacyID FindingKind = "duplicate"
	// Unfinished: nobody knows yet whether the backend did a write.
	UnresolvedWrite FindingKind = "unfinished"
	// Unreadable: what the backend says of a record has not the form the mapping expects.
	UnreadableDocument FindingKind = "unreadable"
)

const (
	// checkPage is the number of records, and of entries, read at a time.
	checkPage = 500
	// fetchBatch is the number of documents asked for at a time.
	fetchBatch = 100
	// maxCarried bounds the legacy ids of documents without an entry that are
	// remembered, to find those that two of them carry.
	maxCarried = 100_000
)

// A Check compares a side, its ledger and a backend.
type Check struct {
	Replica Replica
	Backend Backend
	// Found is told of each finding, and may end the check with an error.
	OnFinding func(Finding) error
	// Progress, unless nil, is told how many records, entries or documents of a resource
	// have been looked at in the step that runs.
	Progress func(r adapter.Resource, step string, done int)
}

// Run compares all records of all resources that the backend keeps, in pages. What
// others write meanwhile may be found, too, so that a finding should be there the
// second time. It changes nothing. Errors are those of the side, the backend and Found.
func (c *Check) Run(ctx context.Context) error {
	kept := c.Backend.Resources()
	for i := range kept {
		k := &kept[i]
		isRoot := k.RootAttribute == ""
		if !isRoot && !k.HasIDs {
			continue // told apart by what they hold
		}
		if err := c.records(ctx, k); err != nil {
			return err
		}
		if err := c.entries(ctx, k, kept); err != nil {
			return err
		}
		if isRoot {
			if err := c.documents(ctx, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Check) progress(r adapter.Resource, step string, done int) {
	if c.Progress != nil {
		c.Progress(r, step, done)
	}
}

// records looks for an entry of each record of the side.
func (c *Check) records(ctx context.Context, k *BackendResource) error {
	q := adapter.Query{Limit: checkPage}
	for done := 0; ; {
		page, err := listed(ctx, c.Replica, k, &q)
		if err != nil || len(page) == 0 {
			return err
		}
		keys := make([]adapter.Key, len(page))
		for i, r := range page {
			keys[i] = adapter.Key(r.Get(r.Schema.Key).Int())
		}
		entries, err := entriesByKey(ctx, c.Replica, k.Resource, keys)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if _, ok := entries[key]; ok {
				continue
			}
			if err := c.OnFinding(Finding{Kind: NotMapped, Resource: k.Resource, Key: key}); err != nil {
				return err
			}
		}
		q.After = &adapter.Mark{Key: keys[len(keys)-1]}
		done += len(page)
		c.progress(k.Resource, "records", done)
	}
}

// entries looks for the records of each entry, here and at the backend.
func (c *Check) entries(ctx context.Context, k *BackendResource, kept []BackendResource) error {
	after := adapter.Key(-1) // one record has the key 0
	for done := 0; ; {
		page, err := c.Replica.ListMappings(ctx, k.Resource, after, checkPage)
		if err != nil || len(page) == 0 {
			return err
		}
		keys := make([]adapter.Key, len(page))
		for i, e := range page {
			keys[i] = e.Key
		}
		held, err := heldBy(ctx, c.Replica, k, keys)
		if err != nil {
			return err
		}
		var complete []Mapping
		for _, e := range page {
			_, here := held[e.Key]
			finding := Finding{Resource: k.Resource, Key: e.Key, ID: e.BackendID}
			switch {
			case e.Intent != nil:
				finding.Kind = UnresolvedWrite
			case !here:
				finding.Kind = MissingInReplica
			case e.BackendID == "":
				finding.Kind = NoBackendID
			default:
				complete = append(complete, e)
				continue
			}
			if err := c.OnFinding(finding); err != nil {
				return err
			}
		}
		if k.RootAttribute == "" {
			for batch := range slices.Chunk(complete, fetchBatch) {
				if err := c.fetch(ctx, k, kept, batch); err != nil {
					return err
				}
			}
		}
		after = page[len(page)-1].Key
		done += len(page)
		c.progress(k.Resource, "entries", done)
	}
}

// fetch reads the documents of entries of a root.
func (c *Check) fetch(ctx context.Context, k *BackendResource, kept []BackendResource, entries []Mapping) error {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.BackendID
	}
	documents, err := c.Backend.Fetch(ctx, k.Resource, ids)
	if err != nil {
		return err
	}
	byID := make(map[string]*Document, len(documents))
	for i := range documents {
		byID[documents[i].ID] = &documents[i]
	}
	for i := range entries {
		e, finding := &entries[i], Finding{Resource: k.Resource, Key: entries[i].Key, ID: entries[i].BackendID}
		document, there := byID[e.BackendID]
		if !there {
			finding.Kind = MissingAtBackend
			if err := c.OnFinding(finding); err != nil {
				return err
			}
			continue
		}
		item, parts, err := document.Read(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			finding.Kind, finding.Detail = UnreadableDocument, err.Error()
		case item.Key != 0 && item.Key != e.Key:
			finding.Kind, finding.Detail = DuplicateLegacyID, fmt.Sprintf("the backend's record carries the legacy id %d", item.Key)
		}
		if finding.Kind != "" {
			if err := c.OnFinding(finding); err != nil {
				return err
			}
		}
		if err == nil {
			if err := c.parts(ctx, e, parts, kept); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts compares the parts of a root with what its document has of them.
func (c *Check) parts(ctx context.Context, root *Mapping, parts map[adapter.Resource][]Item, kept []BackendResource) error {
	told := slices.DeleteFunc(slices.Clone(kept), func(k BackendResource) bool {
		_, says := parts[k.Resource]
		return !k.HasIDs || k.RootAttribute == "" || k.Root != root.Resource || !says
	})
	if len(told) == 0 {
		return nil
	}
	owned, err := c.Replica.MappingsOfParts(ctx, root.Resource, root.Key)
	if err != nil {
		return err
	}
	entered := map[backendName]adapter.Key{}
	for _, e := range owned {
		if e.BackendID != "" && e.Intent == nil {
			entered[backendName{e.Resource, e.BackendID}] = e.Key
		}
	}
	for _, k := range told {
		for _, item := range parts[k.Resource] {
			name := backendName{k.Resource, item.ID}
			if _, ok := entered[name]; ok {
				delete(entered, name)
				continue
			}
			finding := Finding{Kind: NoLegacyID, Resource: k.Resource, ID: item.ID, Detail: fmt.Sprintf("part of %s %d", root.Resource, root.Key)}
			if err := c.OnFinding(finding); err != nil {
				return err
			}
		}
	}
	for _, e := range owned { // in their order
		name := backendName{e.Resource, e.BackendID}
		_, left := entered[name]
		if !left || !slices.ContainsFunc(told, func(k BackendResource) bool { return k.Resource == e.Resource }) {
			continue
		}
		if err := c.OnFinding(Finding{Kind: MissingAtBackend, Resource: e.Resource, Key: e.Key, ID: e.BackendID, Detail: fmt.Sprintf("part of %s %d", root.Resource, root.Key)}); err != nil {
			return err
		}
	}
	return nil
}

// documents looks for the entry of each document of the backend.
func (c *Check) documents(ctx context.Context, k *BackendResource) error {
	done, carried := 0, map[adapter.Key]string{}
	return c.Backend.Scan(ctx, k.Resource, time.Time{}, func(batch []Document) error {
		ids := make([]string, len(batch))
		for i, d := range batch {
			ids[i] = d.ID
		}
		entries, err := entriesByID(ctx, c.Replica, k.Resource, ids)
		if err != nil {
			return err
		}
		for i := range batch {
			if _, ok := entries[batch[i].ID]; ok {
				continue
			}
			if err := c.unknown(ctx, k.Resource, &batch[i], carried); err != nil {
				return err
			}
		}
		done += len(batch)
		c.progress(k.Resource, "documents", done)
		return nil
	})
}

// unknown tells of a document that has no entry. carried are the legacy ids of those
// before it.
func (c *Check) unknown(ctx context.Context, r adapter.Resource, d *Document, carried map[adapter.Key]string) error {
	finding := Finding{Kind: NoLegacyID, Resource: r, ID: d.ID}
	item, _, err := d.Read(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		finding.Kind, finding.Detail = UnreadableDocument, err.Error()
		return c.OnFinding(finding)
	case item.Key == 0:
		return c.OnFinding(finding)
	}
	finding.Key = item.Key
	entries, err := c.Replica.MappingsByKey(ctx, r, []adapter.Key{item.Key})
	if err != nil {
		return err
	}
	other := carried[item.Key]
	switch {
	case len(entries) > 0 && entries[0].Intent != nil:
		return nil // told as a write that is not finished
	case len(entries) > 0:
		other = entries[0].BackendID
	case other == "" && len(carried) < maxCarried:
		carried[item.Key] = d.ID
	}
	if other != "" && other != d.ID {
		finding.Kind, finding.Detail = DuplicateLegacyID, fmt.Sprintf("the legacy id is that of %s", other)
	}
	return c.OnFinding(finding)
}
