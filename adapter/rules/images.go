package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// images writes the images of products. The bytes of an image are complete under their
// name before the end of the transaction that refers to them.
type images struct{ records }

var (
	errImageType = errors.New("unknown image type")
	errNoProduct = errors.New("no such product")
	errNoContent = errors.New("the image is empty")
)

// Create adds an image to the gallery of a product, with values at one scope.
func (w images) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	const op = "create product_images"
	faulty := w.checkNew(op, p.Record)
	bytes := p.Record.Get("content").Text()
	if faulty != nil {
		bytes = ""
	}
	content, err := w.db.NewContent([]byte(bytes))
	if err != nil {
		return 0, err
	}
	defer content.Discard()
	return w.writeNew(ctx, op, func(tx Tx) (adapter.Key, error) {
		if err := cmp.Or(p.RunCheck(), faulty); err != nil {
			return 0, err
		}
		key, name, err := create(ctx, tx, op, p.Record, p.StoreID)
		if err != nil {
			return 0, err
		}
		return key, content.Publish(tx, name)
	})
}

// checkNew checks the attributes of a new image.
func (w images) checkNew(op string, r adapter.Record) error {
	for i, v := range r.Values {
		a := &w.schema.Attributes[i]
		if _, err := a.Canonical(v); err != nil {
			return Invalid(op, a.Name, err)
		}
		if a.ReadOnly && v.Kind() != adapter.Absent {
			return Invalid(op, a.Name, ErrReadOnly)
		}
	}
	switch {
	case r.Get("content").Text() == "":
		return Invalid(op, "content", errNoContent)
	case !ValidFileName(r.Get("file").Text()):
		return Invalid(op, "file", errFileName)
	case r.Get("media_type").Text() == "":
		return Invalid(op, "media_type", ErrKind)
	}
	return checkTypes(op, r)
}

func checkTypes(op string, r adapter.Record) error {
	if slices.ContainsFunc(r.Get("types").Texts(), func(name string) bool { return !slices.Contains(ImageTypes(), name) }) {
		return Invalid(op, "types", errImageType)
	}
	return nil
}

// create stores an image with values at one scope, and returns its key and its file name.
func create(ctx context.Context, tx Tx, op string, r adapter.Record, level int64) (key adapter.Key, name string, err error) {
	product, err := lockProduct(ctx, tx, adapter.Key(r.Get("product_id").Int()), 0)
	if isNotFound(err) {
		err = Invalid(op, "product_id", errNoProduct)
	}
	if err != nil {
		return 0, "", err
	}
	others, err := tx.Gallery(ctx, product.Key(), level)
	if err != nil {
		return 0, "", err
	}
	values := ImageValues{}.withChange(r).frozen()
	if r.Get("position").Empty() {
		values.Position = adapter.IntegerValue(nextPosition(others))
	}
	types, err := freezeProduct(ctx, tx, op, product, level)
	if err != nil {
		return 0, "", err
	}
	row := adapter.NewRecord(r.Schema)
	for _, name := range []string{"product_id", "media_type"} {
		row.Set(name, r.Get(name))
	}
	if name, err = reserveName(ctx, tx, op, r); err != nil {
		return 0, "", err
	}
	row.Set("file", adapter.TextValue(name))
	if key, err = insert(ctx, tx, op, row); err != nil {
		return 0, "", err
	}
	if err = tx.SetImage(ctx, &Image{Key: key}, level, values); err != nil {
		return 0, "", err
	}
	types.point(level, key, r.Get("types").Texts())
	if err = types.store(ctx, tx); err != nil {
		return 0, "", err
	}
	return key, name, finishPartSave(ctx, tx, product, level, key)
}

// maxPosition is the greatest position of an image (product_parts 2.3).
const maxPosition = 1<<32 - 1

// nextPosition returns the position after the images, as shown at a scope.
func nextPosition(images []Image) int64 {
	var last int64
	for i := range images {
		last = max(last, images[i].Shown().Position.Int())
	}
	return min(last+1, maxPosition)
}

// freezeProduct stores at a store view the values that the product shows there, and
// returns the types of its images with the changes that store them there. Images are left
// to finishSave. At the default scope, 0, it changes nothing.
func freezeProduct(ctx context.Context, tx Tx, op string, product adapter.Record, level int64) (*typeChanges, error) {
	types, err := loadTypes(ctx, tx, product.Key())
	if err != nil || level == 0 {
		return types, err
	}
	types.copy(level, level)
	return types, freezeValues(ctx, tx, op, product, level)
}

// lock locks the product of an image and returns both, with the image's values at a scope.
func (w images) lock(ctx context.Context, tx Tx, key adapter.Key, level, ownerID int64) (product, image adapter.Record, err error) {
	if image, err = tx.Get(ctx, adapter.ProductImages, key); err != nil {
		return product, image, err
	}
	if product, err = lockProduct(ctx, tx, adapter.Key(image.Get("product_id").Int()), ownerID); err != nil {
		return product, image, err
	}
	if image, err = tx.Get(ctx, adapter.ProductImages, key); err != nil { // it may be gone
		return product, image, err
	}
	gallery, err := tx.Gallery(ctx, product.Key(), level)
	if err != nil {
		return product, image, err
	}
	types, err := tx.Types(ctx, product.Key())
	for i := range gallery {
		if gallery[i].Key == key {
			gallery[i].Shown().Put(image)
		}
	}
	types.Put(image, level)
	return product, image, err
}

// Update changes an image at one scope.
func (w images) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update product_images %d", p.Key)
	return w.writeMirrored(ctx, op, func(tx Tx, mirror *mirroredWrite) error {
		product, current, err := w.lock(ctx, tx, p.Key, p.StoreID, p.OwnerID)
		if err != nil {
			return err
		}
		change, err := p.RunChange(current)
		if err == nil {
			err = w.checkChange(op, current, change)
		}
		if err != nil {
			return err
		}
		mirror.imageChanged(current, change, p.StoreID)
		return w.update(ctx, tx, op, product, current, change, p.StoreID)
	})
}

// checkChange checks the changed attributes of an image.
func (w images) checkChange(op string, current, change adapter.Record) error {
	for i, v := range change.Values {
		a := &w.schema.Attributes[i]
		v, err := a.Canonical(v)
		differs := v.Kind() != adapter.Absent && !Same(v, current.Values[i])
		switch {
		case err != nil:
		case v.Kind() == adapter.Unset:
			err = ErrKind
		case differs && (a.ReadOnly || a.Fixed):
			err = ErrReadOnly
		case differs && a.Kind == adapter.KindInteger && v.Empty():
			err = ErrKind
		}
		if err != nil {
			return Invalid(op, a.Name, err)
		}
	}
	return checkTypes(op, change)
}

// update stores a change of an image at a scope.
func (w images) update(ctx context.Context, tx Tx, op string, product, image, change adapter.Record, level int64) error {
	key := image.Key()
	types, err := freezeProduct(ctx, tx, op, product, level)
	if err != nil {
		return err
	}
	if change.Get("removed").Int() == 1 {
		types.clear(level, key, nil)
	} else if err := w.setValues(ctx, tx, product, key, change, level); err != nil {
		return err
	}
	if wanted := change.Get("types"); wanted.Kind() != adapter.Absent {
		types.clear(level, key, wanted.Texts())
		types.point(level, key, wanted.Texts())
	}
	if err := types.store(ctx, tx); err != nil {
		return err
	}
	return finishPartSave(ctx, tx, product, level, key)
}

// setValues stores the values that an image shows at a scope after a change.
func (w images) setValues(ctx context.Context, tx Tx, product adapter.Record, key adapter.Key, change adapter.Record, level int64) error {
	gallery, err := tx.Gallery(ctx, product.Key(), level)
	if err != nil {
		return err
	}
	for i := range gallery {
		if gallery[i].Key == key {
			return setImage(ctx, tx, &gallery[i], level, gallery[i].Shown().withChange(change).frozen())
		}
	}
	return nil
}

// Delete clears an image's types at one scope, and deletes the image unless another scope
// uses it. With Everywhere, it deletes the image in any case.
func (w images) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete product_images %d", p.Key)
	return w.writeMirrored(ctx, op, func(tx Tx, mirror *mirroredWrite) error {
		product, current, err := w.lock(ctx, tx, p.Key, p.StoreID, p.OwnerID)
		if err != nil {
			return err
		}
		if err := p.RunCheck(current); err != nil {
			return err
		}
		types, err := freezeProduct(ctx, tx, op, product, p.StoreID)
		if err != nil {
			return err
		}
		types.clear(p.StoreID, p.Key, nil)
		if err := types.store(ctx, tx); err != nil {
			return err
		}
		if err := finishPartSave(ctx, tx, product, p.StoreID, p.Key); err != nil {
			return err
		}
		used, err := usedElsewhere(ctx, tx, product.Key(), types.now, p.StoreID, p.Key)
		if err != nil {
			return err
		}
		gone := !used || p.Everywhere
		if gone {
			if err := p.RunLast(); err != nil {
				return err
			}
			if err := tx.Delete(ctx, adapter.ProductImages, p.Key); err != nil {
				return err
			}
		}
		mirror.removed(current, p.StoreID, gone)
		return nil
	})
}

// usedElsewhere reports whether a type points to an image at another scope than the given
// one: in the default scope, or at a store view of a website that sells the product.
func usedElsewhere(ctx context.Context, tx Tx, product adapter.Key, types Types, level int64, image adapter.Key) (bool, error) {
	var levels []int64
	for at, to := range types {
		if at.Level != level && to == image {
			levels = append(levels, at.Level)
		}
	}
	if len(levels) == 0 || slices.Contains(levels, 0) {
		return len(levels) > 0, nil
	}
	websites, err := tx.Websites(ctx, product)
	if err != nil {
		return false, err
	}
	views, err := tx.StoreViews(ctx)
	if err != nil {
		return false, err
	}
	sold := ViewsOf(views, websites...)
	return slices.ContainsFunc(levels, func(level int64) bool { return slices.Contains(sold, level) }), nil
}
