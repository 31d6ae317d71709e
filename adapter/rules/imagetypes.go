package rules

import (
	"cmp"
	"context"
	"github.com/portico-commerce/portico/adapter"
	"maps"
	"slices"
)

// ImageTypes lists the types that point to an image, in the order of the attribute types.
func ImageTypes() []string { return []string{"image", "small_image", "thumbnail"} }

// PointerTo names the attribute of products that holds the id of the image to which a type
// points.
func PointerTo(imageType string) string { return imageType + "_id" }

// At returns the image to which a type points at a scope, 0 for none. ok is false if
// nothing is stored for the type at the scope and at the default scope.
func (t Types) At(level int64, name string) (image adapter.Key, ok bool) {
	if image, ok = t[TypeAt{level, name}]; !ok {
		image, ok = t[TypeAt{0, name}]
	}
	return image, ok
}

// Put sets the attribute types of an image record to the types that point to it at a
// scope.
func (t Types) Put(image adapter.Record, level int64) {
	names := []string{}
	for _, name := range ImageTypes() {
		if to, _ := t.At(level, name); to == image.Key() {
			names = append(names, name)
		}
	}
	image.Set("types", adapter.TextsValue(names))
}

// typeChanges collects changes of the types of a product.
type typeChanges struct {
	product adapter.Key
	stored  Types
	now     Types // with the changes
}

func loadTypes(ctx context.Context, tx Tx, product adapter.Key) (*typeChanges, error) {
	stored, err := tx.Types(ctx, product)
	if err != nil {
		return nil, err
	}
	return &typeChanges{product, stored, maps.Clone(stored)}, nil
}

// copy points types at one scope to the images that they point to at another, or, if both
// are the same, stores them there. Types without a stored pointer continue to inherit from
// the default scope.
func (c *typeChanges) copy(from, to int64) {
	for _, name := range ImageTypes() {
		if image, ok := c.now.At(from, name); ok {
			c.now[TypeAt{to, name}] = image
		}
	}
}

// point points the named types to an image at a scope.
func (c *typeChanges) point(level int64, image adapter.Key, names []string) {
	for _, name := range names {
		c.now[TypeAt{level, name}] = image
	}
}

// clear points, at a scope, all types that show an image there to no image, except for the
// types in keep.
func (c *typeChanges) clear(level int64, image adapter.Key, keep []string) {
	for _, name := range ImageTypes() {
		if shown, _ := c.now.At(level, name); shown == image && !slices.Contains(keep, name) {
			c.now[TypeAt{level, name}] = 0
		}
	}
}

// store stores the changes.
func (c *typeChanges) store(ctx context.Context, tx Tx) error {
	var changes []TypeChange
	for at, image := range c.now {
		if was, ok := c.stored[at]; !ok || was != image {
			changes = append(changes, TypeChange{TypeAt: at, Image: image, New: !ok})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.SortFunc(changes, compareTypes)
	return tx.SetTypes(ctx, c.product, changes)
}

// compareTypes orders changes by scope and in the order of [ImageTypes].
func compareTypes(a, b TypeChange) int {
	types := ImageTypes()
	return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(slices.Index(types, a.Name), slices.Index(types, b.Name)))
}

// initTypes makes all types of a new product point to no image in the default scope.
func initTypes(ctx context.Context, tx Tx, product adapter.Key) error {
	changes := typeChanges{product: product, now: Types{}}
	changes.point(0, 0, ImageTypes())
	return changes.store(ctx, tx)
}
