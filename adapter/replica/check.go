package replica

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// A Finding is one disagreement between the local replica, the ID map and the backend.
type Finding struct {
	Kind     FindingKind      `json:"what"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"legacy_id,omitempty"`  // 0 for none
	ID       string           `json:"backend_id,omitempty"` // "" for none
	Detail   string           `json:"detail,omitempty"`
}

// A FindingKind says what disagrees.
type FindingKind string

const (
	// NotMapped: a record of the local replica has no mapping, so that callers do not see
	// it.
	NotMapped FindingKind = "not_mapped"
	// NoBackendID: a mapping has no backend id, and no pending create will provide one.
	NoBackendID FindingKind = "no_backend_id"
	// MissingAtBackend: a mapping exists, but its record no longer exists at the backend.
	MissingAtBackend FindingKind = "gone_at_backend"
	// MissingInReplica: a mapping exists, but its record no longer exists in the local
	// replica.
	MissingInReplica FindingKind = "gone_at_side"
	// NoLegacyID: a record of the backend has no mapping, so that callers do not see it.
	NoLegacyID FindingKind = "no_legacy_id"
	// DuplicateLegacyID: a record of the backend carries the legacy id of another record.
	DuplicateLegacyID FindingKind = "duplicate"
	// UnresolvedWrite: a write intent is pending, and the outcome of the write is unknown.
	UnresolvedWrite FindingKind = "unfinished"
	// UnreadableDocument: a document of the backend does not have the form that the mapping
	// file expects.
	UnreadableDocument FindingKind = "unreadable"
)

const (
	// checkPageSize is the number of records, and of mappings, read at a time.
	checkPageSize = 500
	// fetchBatchSize is the number of documents fetched at a time.
	fetchBatchSize = 100
	// maxRememberedKeys bounds how many legacy ids of unmapped documents are remembered in
	// order to find duplicates.
	maxRememberedKeys = 100_000
)

// A Check compares the local replica, the ID map and a backend.
type Check struct {
	Replica Replica
	Backend Backend
	// OnFinding is called for each finding. An error ends the check.
	OnFinding func(Finding) error
	// Progress, unless nil, is called with the number of records, mappings or documents of
	// a resource that the current step has checked.
	Progress func(r adapter.Resource, step string, done int)
}

// Run compares all records of all resources of which the backend owns anything, page by
// page, and changes nothing. Concurrent writes can cause findings, so only a finding that a
// second run repeats is certain. Run returns the errors of the local replica, the backend
// and OnFinding.
func (c *Check) Run(ctx context.Context) error {
	resources := c.Backend.Resources()
	for i := range resources {
		res := &resources[i]
		isRoot := res.RootAttribute == ""
		if !isRoot && !res.HasIDs {
			continue // such parts have no mappings
		}
		if err := c.checkRecords(ctx, res); err != nil {
			return err
		}
		if err := c.checkMappings(ctx, res, resources); err != nil {
			return err
		}
		if isRoot {
			if err := c.checkDocuments(ctx, res); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Check) reportProgress(r adapter.Resource, step string, done int) {
	if c.Progress != nil {
		c.Progress(r, step, done)
	}
}

// checkRecords looks up the mapping of every record of the local replica.
func (c *Check) checkRecords(ctx context.Context, res *BackendResource) error {
	q := adapter.Query{Limit: checkPageSize}
	for done := 0; ; {
		page, err := listKeys(ctx, c.Replica, res, &q)
		if err != nil || len(page) == 0 {
			return err
		}
		keys := make([]adapter.Key, len(page))
		for i, r := range page {
			keys[i] = adapter.Key(r.Get(r.Schema.Key).Int())
		}
		mappings, err := mappingsByKey(ctx, c.Replica, res.Resource, keys)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if _, ok := mappings[key]; ok {
				continue
			}
			if err := c.OnFinding(Finding{Kind: NotMapped, Resource: res.Resource, Key: key}); err != nil {
				return err
			}
		}
		q.After = &adapter.Cursor{Key: keys[len(keys)-1]}
		done += len(page)
		c.reportProgress(res.Resource, "records", done)
	}
}

// checkMappings looks up the records of every mapping, in the local replica and at the
// backend.
func (c *Check) checkMappings(ctx context.Context, res *BackendResource, resources []BackendResource) error {
	after := adapter.Key(-1) // the customer group of guests has key 0
	for done := 0; ; {
		page, err := c.Replica.ListMappings(ctx, res.Resource, after, checkPageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		keys := make([]adapter.Key, len(page))
		for i, mapping := range page {
			keys[i] = mapping.Key
		}
		roots, err := rootKeys(ctx, c.Replica, res, keys)
		if err != nil {
			return err
		}
		var complete []Mapping
		for _, mapping := range page {
			_, here := roots[mapping.Key]
			finding := Finding{Resource: res.Resource, Key: mapping.Key, ID: mapping.BackendID}
			switch {
			case mapping.Intent != nil:
				finding.Kind = UnresolvedWrite
			case !here:
				finding.Kind = MissingInReplica
			case mapping.BackendID == "":
				finding.Kind = NoBackendID
			default:
				complete = append(complete, mapping)
				continue
			}
			if err := c.OnFinding(finding); err != nil {
				return err
			}
		}
		if res.RootAttribute == "" {
			for batch := range slices.Chunk(complete, fetchBatchSize) {
				if err := c.checkRoots(ctx, res, resources, batch); err != nil {
					return err
				}
			}
		}
		after = page[len(page)-1].Key
		done += len(page)
		c.reportProgress(res.Resource, "mappings", done)
	}
}

// checkRoots fetches the documents of root mappings and checks them and their parts.
func (c *Check) checkRoots(ctx context.Context, res *BackendResource, resources []BackendResource, mappings []Mapping) error {
	ids := make([]string, len(mappings))
	for i, mapping := range mappings {
		ids[i] = mapping.BackendID
	}
	documents, err := c.Backend.Fetch(ctx, res.Resource, ids)
	if err != nil {
		return err
	}
	byID := make(map[string]*Document, len(documents))
	for i := range documents {
		byID[documents[i].ID] = &documents[i]
	}
	for i := range mappings {
		mapping, finding := &mappings[i], Finding{Resource: res.Resource, Key: mappings[i].Key, ID: mappings[i].BackendID}
		document, exists := byID[mapping.BackendID]
		if !exists {
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
		case item.Key != 0 && item.Key != mapping.Key:
			finding.Kind, finding.Detail = DuplicateLegacyID, fmt.Sprintf("the backend's record carries the legacy id %d", item.Key)
		}
		if finding.Kind != "" {
			if err := c.OnFinding(finding); err != nil {
				return err
			}
		}
		if err == nil {
			if err := c.checkParts(ctx, mapping, parts, resources); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkParts compares the mapped parts of a root with the parts that its document has.
func (c *Check) checkParts(ctx context.Context, root *Mapping, parts map[adapter.Resource][]Item, resources []BackendResource) error {
	withParts := slices.DeleteFunc(slices.Clone(resources), func(res BackendResource) bool {
		_, present := parts[res.Resource]
		return !res.HasIDs || res.RootAttribute == "" || res.Root != root.Resource || !present
	})
	if len(withParts) == 0 {
		return nil
	}
	partMappings, err := c.Replica.MappingsOfParts(ctx, root.Resource, root.Key)
	if err != nil {
		return err
	}
	unseen := map[backendRef]adapter.Key{}
	for _, mapping := range partMappings {
		if mapping.BackendID != "" && mapping.Intent == nil {
			unseen[backendRef{mapping.Resource, mapping.BackendID}] = mapping.Key
		}
	}
	for _, res := range withParts {
		for _, item := range parts[res.Resource] {
			ref := backendRef{res.Resource, item.ID}
			if _, ok := unseen[ref]; ok {
				delete(unseen, ref)
				continue
			}
			finding := Finding{Kind: NoLegacyID, Resource: res.Resource, ID: item.ID, Detail: fmt.Sprintf("part of %s %d", root.Resource, root.Key)}
			if err := c.OnFinding(finding); err != nil {
				return err
			}
		}
	}
	for _, mapping := range partMappings { // report them in the order of partMappings
		ref := backendRef{mapping.Resource, mapping.BackendID}
		_, notInDocument := unseen[ref]
		if !notInDocument || !slices.ContainsFunc(withParts, func(res BackendResource) bool { return res.Resource == mapping.Resource }) {
			continue
		}
		if err := c.OnFinding(Finding{Kind: MissingAtBackend, Resource: mapping.Resource, Key: mapping.Key, ID: mapping.BackendID, Detail: fmt.Sprintf("part of %s %d", root.Resource, root.Key)}); err != nil {
			return err
		}
	}
	return nil
}

// checkDocuments scans the documents of a root resource at the backend, and reports those
// without an entry in the ID map as findings.
func (c *Check) checkDocuments(ctx context.Context, res *BackendResource) error {
	done, carried := 0, map[adapter.Key]string{}
	return c.Backend.Scan(ctx, res.Resource, time.Time{}, func(batch []Document) error {
		ids := make([]string, len(batch))
		for i, d := range batch {
			ids[i] = d.ID
		}
		mappings, err := mappingsByBackendID(ctx, c.Replica, res.Resource, ids)
		if err != nil {
			return err
		}
		for i := range batch {
			if _, ok := mappings[batch[i].ID]; ok {
				continue
			}
			if err := c.reportUnmapped(ctx, res.Resource, &batch[i], carried); err != nil {
				return err
			}
		}
		done += len(batch)
		c.reportProgress(res.Resource, "documents", done)
		return nil
	})
}

// reportUnmapped reports a document that has no mapping. carried holds the legacy ids of
// the unmapped documents before it.
func (c *Check) reportUnmapped(ctx context.Context, r adapter.Resource, d *Document, carried map[adapter.Key]string) error {
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
	mappings, err := c.Replica.MappingsByKey(ctx, r, []adapter.Key{item.Key})
	if err != nil {
		return err
	}
	other := carried[item.Key]
	switch {
	case len(mappings) > 0 && mappings[0].Intent != nil:
		return nil // reported as UnresolvedWrite
	case len(mappings) > 0:
		other = mappings[0].BackendID
	case other == "" && len(carried) < maxRememberedKeys:
		carried[item.Key] = d.ID
	}
	if other != "" && other != d.ID {
		finding.Kind, finding.Detail = DuplicateLegacyID, fmt.Sprintf("%s carries the same legacy id", other)
	}
	return c.OnFinding(finding)
}
