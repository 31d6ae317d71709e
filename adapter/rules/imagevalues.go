package rules

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
)

// NewImage returns an image without values.
func NewImage(key adapter.Key) Image {
	none := ImageValues{adapter.NullValue(), adapter.NullValue(), adapter.NullValue()}
	return Image{Key: key, Own: none, Global: none}
}

// Shown returns the values that the image shows at its scope (product_parts 2.7). An
// empty label counts as none.
func (i *Image) Shown() ImageValues {
	v := i.Own
	if v.Label.Text() == "" {
		v.Label = i.Global.Label
	}
	if v.Position.Empty() {
		v.Position = i.Global.Position
	}
	if v.Exclude.Empty() {
		v.Exclude = i.Global.Exclude
	}
	return v
}

// Put sets the values of an image record.
func (v ImageValues) Put(image adapter.Record) {
	for name, value := range map[string]adapter.Value{"label": v.Label, "position": v.Position, "exclude": v.Exclude} {
		if value.Kind() == adapter.Absent || name == "label" && value.Text() == "" {
			value = adapter.NullValue()
		}
		image.Set(name, value)
	}
}

// frozen returns the form of v that a save stores: no empty label, and always a position
// and an exclude.
func (v ImageValues) frozen() ImageValues {
	if v.Label.Text() == "" {
		v.Label = adapter.NullValue()
	}
	v.Position, v.Exclude = adapter.IntegerValue(v.Position.Int()), adapter.IntegerValue(v.Exclude.Int())
	return v
}

// withChange returns v with the values that r has.
func (v ImageValues) withChange(r adapter.Record) ImageValues {
	if label := r.Get("label"); label.Kind() != adapter.Absent {
		v.Label = label
	}
	if position := r.Get("position"); !position.Empty() {
		v.Position = position
	}
	if exclude := r.Get("exclude"); !exclude.Empty() {
		v.Exclude = exclude
	}
	return v
}

// equal reports whether v and other are the same values.
func (v ImageValues) equal(other ImageValues) bool {
	return v.Label.Equal(other.Label) && v.Position.Equal(other.Position) && v.Exclude.Equal(other.Exclude)
}

// freezeImages stores at a scope the values that the images of a product show there, so
// that later changes of the default scope do not affect them. It leaves out the image
// except.
func freezeImages(ctx context.Context, tx Tx, product adapter.Key, level int64, except adapter.Key) error {
	gallery, err := tx.Gallery(ctx, product, level)
	if err != nil {
		return err
	}
	for i := range gallery {
		if gallery[i].Key == except {
			continue
		}
		if err := setImage(ctx, tx, &gallery[i], level, gallery[i].Shown().frozen()); err != nil {
			return err
		}
	}
	return nil
}

// setImage stores the values of an image at a scope, unless they are stored already.
func setImage(ctx context.Context, tx Tx, i *Image, level int64, v ImageValues) error {
	if i.Stored && i.Own.equal(v) {
		return nil
	}
	return tx.SetImage(ctx, i, level, v)
}

// copyImages copies the image values and types that the product shows from one store view
// to another.
func copyImages(ctx context.Context, tx Tx, product adapter.Key, from, to int64) error {
	source, err := tx.Gallery(ctx, product, from)
	if err != nil {
		return err
	}
	target, err := tx.Gallery(ctx, product, to)
	if err != nil {
		return err
	}
	for i := range source {
		if err := setImage(ctx, tx, &target[i], to, source[i].Shown().frozen()); err != nil {
			return err
		}
	}
	types, err := loadTypes(ctx, tx, product)
	if err != nil {
		return err
	}
	types.copy(from, to)
	return types.store(ctx, tx)
}
