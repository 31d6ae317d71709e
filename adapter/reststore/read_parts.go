package reststore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
)

// readParts returns the parts of resource p in a document, or nil if the mapping returns
// null because the document has no information about them.
func (b *Backend) readParts(ctx context.Context, p *resource, input any, keys *documentReader) ([]replica.Item, error) {
	v, err := p.Items.eval(ctx, input)
	if err != nil || v == nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: does not return a list", p.Items.at)
	}
	items := make([]replica.Item, 0, len(list))
	seen := map[string]bool{}
	for _, e := range list {
		object, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: returns a list element that is not an object", p.Items.at)
		}
		before := len(keys.leftOut)
		item, known, err := b.readPart(ctx, p, object, keys)
		if err != nil {
			return nil, err
		}
		item.LeftOut = slices.Clone(keys.leftOut[before:])
		if !known {
			continue
		}
		if utf8.RuneCountInString(item.ID) > idmap.MaxBackendID {
			keys.leaveOut(p.Items, p, "one", fmt.Errorf("has an id that is longer than %d characters", idmap.MaxBackendID))
			continue
		}
		name := p.partIdentity(item)
		if seen[name] {
			return nil, fmt.Errorf("%s: returns two parts with the same identity", p.Items.at)
		}
		seen[name] = true
		items = append(items, item)
	}
	return items, nil
}

// contentURL is the member of a part with the URL of its file.
const contentURL = "content_url"

// readPart converts one part. It reports false for a part that is identified by a
// reference to a record without a legacy id, such as a website that the contract does not
// have.
func (b *Backend) readPart(ctx context.Context, p *resource, object map[string]any, keys *documentReader) (item replica.Item, known bool, err error) {
	if item.ID = backendID(object["id"]); item.ID == "" && (p.Identified || object["id"] != nil) {
		return item, false, fmt.Errorf("%s: a part has no id that is a string or an integer", p.Items.at)
	}
	if item.Key, err = p.Items.legacyID(object["key"]); err != nil {
		return item, false, err
	}
	values := maps.Clone(object)
	if address, ok := values[contentURL].(string); ok && address != "" && p.schema.HasFile {
		item.File = func(ctx context.Context) (replica.File, error) { return b.files.Read(ctx, address) }
		delete(values, contentURL)
	}
	delete(values, "id")
	delete(values, "key")
	record, unknown, err := b.buildRecord(ctx, p, p.Items, values, p.restNames, keys)
	if err != nil {
		return item, false, err
	}
	for _, name := range p.Match {
		if record.Get(name).Kind() == adapter.Absent {
			if unknown {
				return item, false, nil
			}
			return item, false, fmt.Errorf("%s: a part has no %s, which identifies it", p.Items.at, name)
		}
	}
	// Attributes that are not backend-owned are used only for newly imported records.
	item.Record, item.Initial = adapter.NewRecord(p.schema), adapter.NewRecord(p.schema)
	for i, v := range record.Values {
		if slices.Contains(p.Attributes, p.schema.Attributes[i].Name) {
			item.Record.Values[i] = v
		} else {
			item.Initial.Values[i] = v
		}
	}
	return item, true, nil
}

// partIdentity returns a string that is unique among the parts of one root.
func (p *resource) partIdentity(item replica.Item) string {
	if p.Identified {
		return item.ID
	}
	name := ""
	for _, attribute := range p.Match {
		name += item.Record.Get(attribute).Text() + "\x00"
	}
	return name
}
