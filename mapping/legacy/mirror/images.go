package mirror

import (
	"encoding/base64"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// imageFields returns the fields of an image that clients can change. A position and an exclude
// flag cannot be removed from a scope.
func imageFields(table *contract.FieldTable) []field {
	fields := []field{
		{name: "label", value: scalar, null: asEmptyText, absent: asEmptyText},
		{name: "position", value: scalar},
		{name: "exclude", value: scalar},
		{name: "types", value: func(v adapter.Value) (codec.Node, bool) { return codec.TextsNode(v.Texts()), v.Kind() == adapter.Texts }},
	}
	return slices.DeleteFunc(fields, func(f field) bool { return !isWritable(table, f.name) })
}

// imageBody adds the fields of an image and returns the method of the request.
//
// An image that was removed from a store view, and nothing else, is deleted there. The original
// then deletes it everywhere unless another scope uses it. So if the default scope does not, the
// image loses its types at the store view instead; it is then also shown there with its present
// label, position and exclude flag, even if these change later in the default scope.
func (u *update) imageBody(fields []field) contract.Method {
	var types []string
	for _, use := range contract.ImageUses() {
		if u.imageOf(use, u.storeID) == u.record.Key() {
			types = append(types, use)
		}
	}
	u.record = u.record.Clone()
	u.record.Set("types", adapter.TextsValue(types))
	if u.asks("removed") {
		u.attributes = append([]string{"types"}, u.attributes...)
		usedByDefault := slices.ContainsFunc(contract.ImageUses(), func(use string) bool { return u.imageOf(use, 0) == u.record.Key() })
		changed := slices.ContainsFunc(fields, func(f field) bool { return f.name != "types" && u.asks(f.name) })
		if u.storeID != 0 && usedByDefault && !changed && len(types) == 0 {
			return contract.DELETE
		}
	}
	u.addFields(fields)
	return contract.PUT
}

// imageOf returns the image of the product that a type points to in a scope, or 0.
func (u *update) imageOf(use string, storeID int64) adapter.Key {
	for _, level := range []int64{storeID, 0} {
		for _, l := range u.of.Levels {
			if l.StoreID != level || l.Record.Schema.Resource != adapter.Products {
				continue
			}
			if pointer := l.Record.Get(use + "_id"); pointer.Kind() != adapter.Absent {
				return adapter.Key(pointer.Int())
			}
		}
	}
	return 0
}

var errNoContent = errors.New("an image is created with its bytes: set the attribute content")

// imageMembers returns the body that creates an image. The original decides its final file
// name, as a store of Portico does; the media type determines the extension.
func imageMembers(fields []field, record adapter.Record) ([]codec.Member, error) {
	content := record.Get("content").Text()
	if content == "" {
		return nil, &adapter.Error{Kind: adapter.Invalid, Op: "mirror: create " + string(record.Schema.Resource), Field: "content", Err: errNoContent}
	}
	file := path.Base(record.Get("file").Text())
	extension := path.Ext(file)
	return append(newMembers(fields, record),
		codec.Member{Key: "file_name", Value: codec.TextNode(strings.TrimSuffix(file, extension))},
		codec.Member{Key: "file_mime_type", Value: codec.TextNode(declaredType(record.Get("media_type").Text(), extension))},
		codec.Member{Key: "file_content", Value: codec.TextNode(base64.StdEncoding.EncodeToString([]byte(content)))},
	), nil
}

// declaredType returns the media type to declare so that the file gets an extension: if possible,
// the one that fits its bytes.
func declaredType(mediaType, extension string) string {
	all := contract.ImageTypes()
	if slices.ContainsFunc(all, func(t contract.ImageType) bool { return t.MediaType == mediaType && "."+t.Extension == extension }) {
		return mediaType
	}
	for _, t := range all {
		if "."+t.Extension == extension {
			return t.MediaType
		}
	}
	return mediaType
}
