package reststore

import (
	"context"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sidestore"
)

// partItems works out what a document says of the parts of one resource; nil when it
// says nothing.
func (b *Backend) readParts(ctx context.Context, p *resource, input any, keys *keyCache) ([]sidestore.Item, error) {
	v, err := p.items.eval(ctx, input)
	if err != nil || v == nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: makes no list", p.items.at)
	}
	items := make([]sidestore.Item, 0, len(list))
	seen := map[string]bool{}
	for _, e := range list {
		object, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: makes a list of what are no objects", p.items.at)
		}
		item, known, err := b.readPart(ctx, p, object, keys)
		if err != nil {
			return nil, err
		}
		if !known {
			continue
		}
		name := p.partIdentity(item)
		if seen[name] {
			return nil, fmt.Errorf("%s: makes two parts that cannot be told apart", p.items.at)
		}
		seen[name] = true
		items = append(items, item)
	}
	return items, nil
}

// partItem returns one part. It is not known when it is told apart by a reference to
// what has no legacy id, as a website that the contract does not have.
func (b *Backend) readPart(ctx context.Context, p *resource, object map[string]any, keys *keyCache) (item sidestore.Item, known bool, err error) {
	values := make(map[string]any, len(object))
	for name, v := range object {
		switch name {
		case "id":
			if item.ID = backendID(v); item.ID == "" && v != nil {
				return item, false, fmt.Errorf("%s: the id of a part is neither a text nor a whole number", p.items.at)
			}
		case "key":
			if v != nil {
				key, err := parseInteger(v)
				if err != nil || key < 1 {
					return item, false, fmt.Errorf("%s: the legacy id of a part is none", p.items.at)
				}
				item.Key = adapter.Key(key)
			}
		default:
			values[name] = v
		}
	}
	if p.identified && item.ID == "" {
		return item, false, fmt.Errorf("%s: a part has no id", p.items.at)
	}
	record, unknown, err := b.buildRecord(ctx, p, p.items.at, values, p.restNames, keys)
	if err != nil {
		return item, false, err
	}
	for _, name := range p.match {
		if record.Get(name).Kind() == adapter.Absent {
			if unknown {
				return item, false, nil
			}
			return item, false, fmt.Errorf("%s: a part has no %s, by which it is told apart", p.items.at, name)
		}
	}
	// What is not kept is for records that are taken over.
	item.Record, item.Rest = adapter.NewRecord(p.schema), adapter.NewRecord(p.schema)
	for i, v := range record.Values {
		if slices.Contains(p.attributes, p.schema.Attributes[i].Name) {
			item.Record.Values[i] = v
		} else {
			item.Rest.Values[i] = v
		}
	}
	return item, true, nil
}

// nameOf returns what tells a part from the others of its root.
func (p *resource) partIdentity(item sidestore.Item) string {
	if p.identified {
		return item.ID
	}
	name := ""
	for _, attribute := range p.match {
		name += item.Record.Get(attribute).Text() + "\x00"
	}
	return name
}
