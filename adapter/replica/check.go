package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// maxRememberedKeys bounds the number of legacy ids of unmapped documents that are
// remembered to find duplicates.
const maxRememberedKeys = 100_000

// Check compares all records of all resources with backend-owned attributes, and changes
// nothing. It calls report for each finding; an error ends the check. Concurrent writes can
// cause findings, so only a finding that a second check repeats is certain. progress, unless
// nil, is called with the number of records, mappings or documents of a resource that the
// current step has checked. Check returns the errors of the local replica, the backend and
// report.
func (a *Adapter) Check(ctx context.Context, report func(Finding) error, progress func(r adapter.Resource, step string, done int)) error {
	for _, plan := range a.ordered {
		if !plan.hasMappings() {
			continue
		}
		c := check{a, plan, report, map[adapter.Key]string{}}
		for _, step := range []struct {
			from  source
			check func(context.Context, *row) error
		}{{fromReplica, c.checkRecord}, {fromIDMap, c.checkMapping}, {fromBackend, c.checkDocument}} {
			if step.from == fromBackend && !plan.isRoot() {
				continue
			}
			done := 0
			err := a.walk(ctx, plan, step.from, time.Time{}, func(rows []row) error {
				for i := range rows {
					if err := step.check(ctx, &rows[i]); err != nil {
						return err
					}
				}
				if done += len(rows); progress != nil {
					progress(plan.Resource, string(step.from), done)
				}
				return nil
			})
			if incomplete, is := errors.AsType[*IncompleteListError](err); is {
				err = report(Finding{Kind: IncompleteList, Resource: plan.Resource, Detail: incomplete.Error()})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A check checks the rows of one resource.
type check struct {
	*Adapter
	*resourcePlan
	report  func(Finding) error
	carried map[adapter.Key]string // by legacy id: the unmapped document that carries the id
}

// checkRecord reports a record of the local replica that has no mapping.
func (c *check) checkRecord(_ context.Context, r *row) error {
	if r.mapping != nil {
		return nil
	}
	return c.report(Finding{Kind: NotMapped, Resource: c.Resource, Key: r.key})
}

// checkMapping reports a mapping that lacks its record on either side, and compares the
// document with it.
func (c *check) checkMapping(ctx context.Context, r *row) error {
	finding := Finding{Resource: c.Resource, Key: r.key, ID: r.mapping.BackendID}
	switch {
	case r.mapping.Intent != nil:
		finding.Kind = UnresolvedWrite
	case !r.exists:
		finding.Kind = MissingInReplica
	case r.mapping.BackendID == "":
		finding.Kind = NoBackendID
	case !c.isRoot():
		return nil // its root's document shows whether the backend has the part
	case r.doc == nil:
		finding.Kind = MissingAtBackend
	}
	if finding.Kind != "" {
		return c.report(finding)
	}
	item, parts, err := r.doc.Read(ctx)
	switch {
	case err != nil:
		return c.reportUnreadable(ctx, finding, err)
	case item.Key != 0 && item.Key != r.key:
		finding.Kind, finding.Detail = DuplicateLegacyID, fmt.Sprintf("the backend's record carries the legacy id %d", item.Key)
		if err := c.report(finding); err != nil {
			return err
		}
	}
	if err := c.checkLeftOut(r, item, parts); err != nil {
		return err
	}
	return c.checkParts(ctx, r.key, parts)
}

// checkLeftOut reports the values of a root's document that do not fit their attributes, and the values
// that the local replica has refused: there the document differs from the base without a change since.
func (c *check) checkLeftOut(r *row, item Item, parts map[adapter.Resource][]Item) error {
	reasons := item.LeftOut
	refused := func(plan *resourcePlan, base, document adapter.Record) []string {
		return convert(differing(base, document, plan.canImport), func(name string) string { return name + " of " + string(plan.Resource) + " is refused by the database" })
	}
	if r.state() == inSync {
		base, err := baseOf(c.resourcePlan, *r.mapping)
		if err != nil {
			return err
		}
		reasons = slices.Concat(reasons, refused(c.resourcePlan, base.Item, item.Record))
		for store, view := range item.Views {
			if before, known := base.Views[store]; known {
				reasons = slices.Concat(reasons, refused(c.resourcePlan, before, view))
			}
		}
		for _, part := range c.parts {
			before := map[string]adapter.Record{}
			for _, known := range base.Parts[part.Resource] {
				before[part.itemIdentity(known)] = known.Record
			}
			for _, item := range parts[part.Resource] {
				switch old, known := before[part.itemIdentity(item)]; {
				case known:
					reasons = slices.Concat(reasons, refused(part, old, item.Record))
				case part.ImportsParts && !part.HasIDs: // checkParts reports parts with ids
					reasons = append(reasons, "one of "+string(part.Resource)+" is refused by the database")
				}
			}
		}
	}
	for _, reason := range reasons {
		if err := c.report(Finding{Kind: LeftOut, Resource: c.Resource, Key: r.key, ID: r.mapping.BackendID, Detail: reason}); err != nil {
			return err
		}
	}
	return nil
}

// reportUnreadable reports a document that cannot be read, unless ctx has ended. The detail
// is the same for all documents that cannot be read for the same reason.
func (c *check) reportUnreadable(ctx context.Context, f Finding, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if known, ok := errors.AsType[*adapter.Error](err); ok && known.Err != nil {
		err = known.Err // without the operation, whose text names the document
	}
	f.Kind, f.Detail = UnreadableDocument, err.Error()
	return c.report(f)
}

// checkParts compares the mapped parts of a root with the parts of its document.
func (c *check) checkParts(ctx context.Context, rootKey adapter.Key, parts map[adapter.Resource][]Item) error {
	mappings, err := c.replica.MappingsOfParts(ctx, c.Resource, rootKey)
	if err != nil {
		return err
	}
	detail := fmt.Sprintf("part of %s %d", c.Resource, rootKey)
	for _, part := range c.parts {
		items, present := parts[part.Resource]
		if !part.HasIDs || !present {
			continue
		}
		unseen := map[string]bool{}
		for _, mapping := range mappings {
			if mapping.Resource == part.Resource && mapping.BackendID != "" && mapping.Intent == nil {
				unseen[mapping.BackendID] = true
			}
		}
		for _, item := range items {
			if unseen[item.ID] {
				delete(unseen, item.ID)
			} else if err := c.report(Finding{Kind: NoLegacyID, Resource: part.Resource, ID: item.ID, Detail: detail}); err != nil {
				return err
			}
		}
		for _, mapping := range mappings {
			if mapping.Resource != part.Resource || !unseen[mapping.BackendID] {
				continue
			}
			if err := c.report(Finding{Kind: MissingAtBackend, Resource: part.Resource, Key: mapping.Key, ID: mapping.BackendID, Detail: detail}); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDocument reports a document that has no mapping.
func (c *check) checkDocument(ctx context.Context, r *row) error {
	if r.mapping != nil {
		return nil
	}
	finding := Finding{Kind: NoLegacyID, Resource: c.Resource, ID: r.doc.ID}
	item, _, err := r.doc.Read(ctx)
	switch {
	case err != nil:
		return c.reportUnreadable(ctx, finding, err)
	case item.Key == 0:
		return c.report(finding)
	}
	finding.Key = item.Key
	carrier, err := c.rowOf(ctx, c.resourcePlan, item.Key)
	if err != nil {
		return err
	}
	other := c.carried[item.Key]
	switch {
	case carrier.mapping != nil && carrier.mapping.Intent != nil:
		return nil // reported as findings.UnresolvedWrite
	case carrier.mapping != nil:
		other = carrier.mapping.BackendID
	case other == "" && len(c.carried) < maxRememberedKeys:
		c.carried[item.Key] = r.doc.ID
	}
	if other != "" && other != r.doc.ID {
		finding.Kind, finding.Detail = DuplicateLegacyID, fmt.Sprintf("%s carries the same legacy id", other)
	}
	return c.report(finding)
}

// A Finding is one disagreement between the local replica, the ID map and the backend.
type Finding struct {
	Kind     Kind             `json:"what"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"legacy_id,omitempty"`  // 0 for none
	ID       string           `json:"backend_id,omitempty"` // "" for none
	Detail   string           `json:"detail,omitempty"`
}

// A Kind is a kind of disagreement.
type Kind string

const (
	// NotMapped: a record of the local replica has no mapping, so that callers do not see
	// it.
	NotMapped Kind = "not_mapped"
	// NoBackendID: a mapping has no backend id, and no pending create will provide one.
	NoBackendID Kind = "no_backend_id"
	// MissingAtBackend: a mapping exists, but its record no longer exists at the backend.
	MissingAtBackend Kind = "gone_at_backend"
	// MissingInReplica: a mapping exists, but its record no longer exists in the local
	// replica.
	MissingInReplica Kind = "gone_at_side"
	// NoLegacyID: a record of the backend has no mapping, so that callers do not see it.
	NoLegacyID Kind = "no_legacy_id"
	// DuplicateLegacyID: a record of the backend carries the legacy id of another record.
	DuplicateLegacyID Kind = "duplicate"
	// UnresolvedWrite: a write intent is pending, and the outcome of the write is unknown.
	UnresolvedWrite Kind = "unfinished"
	// UnreadableDocument: a document of the backend does not have the form that the mapping
	// file expects.
	UnreadableDocument Kind = "unreadable"
	// LeftOut: a value of a document is not applied, because it does not fit its attribute or the
	// local replica refuses it.
	LeftOut Kind = "left_out"
	// IncompleteList: the backend lists a record twice, or its total differs from the number of
	// listed records, so that other records may be missing.
	IncompleteList Kind = "incomplete_list"
)
