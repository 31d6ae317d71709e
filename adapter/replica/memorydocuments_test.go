package replica_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/replica"
)

// document returns the current document.
func (m *memoryBackend) document(d *memoryDoc) replica.Document {
	item, parts := m.item(&d.memoryItem), map[adapter.Resource][]replica.Item{}
	for _, res := range m.resources {
		if res.Root != item.Record.Schema.Resource || res.Root == res.Resource {
			continue
		}
		parts[res.Resource] = []replica.Item{}
		for _, p := range d.parts[res.Resource] {
			parts[res.Resource] = append(parts[res.Resource], m.item(&p))
		}
	}
	sum := sha256.New()
	show := func(i replica.Item) { fmt.Fprintf(sum, "%s %d %s\n", i.ID, i.Key, adaptertest.FormatRecord(i.Record)) }
	show(item)
	item.Views = m.viewsOf(d)
	for _, store := range slices.Sorted(maps.Keys(item.Views)) {
		fmt.Fprintln(sum, store, adaptertest.FormatRecord(item.Views[store]))
	}
	broken := d.broken
	if broken {
		fmt.Fprintln(sum, "broken")
	}
	for _, r := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintln(sum, r)
		for _, part := range parts[r] {
			show(part)
		}
	}
	categories := slices.Clone(d.categories)
	fmt.Fprintln(sum, categories)
	return replica.Document{ID: item.ID, Version: fmt.Sprintf("%x", sum.Sum(nil)), Read: func(ctx context.Context) (replica.Item, map[adapter.Resource][]replica.Item, error) {
		if broken {
			return replica.Item{}, nil, memoryError(adapter.Unavailable, "")
		}
		item, parts := item, maps.Clone(parts)
		if !replica.ReadsViews(ctx) {
			item.Views = nil
		} else if item.Views != nil {
			m.viewReads.Add(1)
		}
		if len(categories) == 0 {
			return item, parts, nil
		}
		keys, err := m.ids.Keys(ctx, adapter.Categories, categories)
		assigned := slices.Clone(parts[adapter.ProductCategories])
		for _, id := range categories {
			if keys[id] == 0 {
				item.Unresolved = map[adapter.Resource][]string{adapter.Categories: append(item.Unresolved[adapter.Categories], id)}
				continue
			}
			assigned = append(assigned, replica.Item{Record: attrs{"category_id": int(keys[id]), "position": 1}.Record(schemas().Of(adapter.ProductCategories))})
		}
		parts[adapter.ProductCategories] = assigned
		return item, parts, err
	}}
}

func (m *memoryBackend) item(i *memoryItem) replica.Item {
	item := replica.Item{ID: i.id, Key: i.key, Record: i.record.Clone(), Initial: i.rest, File: i.file}
	if m.withoutKeys {
		item.Key = 0
	}
	return item
}

// edit changes a document directly at the backend.
func (m *memoryBackend) edit(r adapter.Resource, id string, change func(*memoryDoc)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.docs[r][id]
	d.record = d.record.Clone()
	change(d)
	d.changed = time.Now()
}

// A memoryState is the content of a memoryBackend.
type memoryState struct {
	next int
	docs map[adapter.Resource]map[string]*memoryDoc
}

func (m *memoryBackend) save() memoryState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return memoryState{m.next, cloneDocs(m.docs)}
}

func (m *memoryBackend) restore(s memoryState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next, m.docs = s.next, cloneDocs(s.docs)
}

func cloneDocs(docs map[adapter.Resource]map[string]*memoryDoc) map[adapter.Resource]map[string]*memoryDoc {
	all := map[adapter.Resource]map[string]*memoryDoc{}
	for r, some := range docs {
		all[r] = map[string]*memoryDoc{}
		for id, d := range some {
			copied := *d
			copied.parts = map[adapter.Resource][]memoryItem{}
			for part, items := range d.parts {
				copied.parts[part] = slices.Clone(items)
			}
			all[r][id] = &copied
		}
	}
	return all
}
