package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// maxPosition is the greatest position of an image (product_parts 2.3).
const maxPosition = 1<<32 - 1

var (
	errImageType = errors.New("not a type of image")
	errProduct   = errors.New("no such product")
	errNoContent = errors.New("no content")
)

// Create adds an image to the gallery of a product, with values at one level. Its
// bytes are on the disk before the transaction begins, and have their name before
// it is committed: a file without an image does no harm, an image without its
// file would. So a commit whose answer is lost leaves the file where it is.
func (s productImages) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	const op = "create product_images"
	if s.db.media.directory == "" {
		return 0, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoMedia}
	}
	bytes := []byte(p.Record.Get("content").Text())
	content := &blob{published: true} // none
	invalid := s.checkNew(op, p.Record)
	if invalid == nil {
		var err error
		if content, err = s.db.media.add(bytes); err != nil {
			return 0, s.db.fault(ctx, op, err)
		}
	}
	var key adapter.Key
	err := s.db.products.save(ctx, op, func(tx *saving) error {
		if err := allow(p.Check); err != nil {
			return err
		}
		if invalid != nil {
			return invalid
		}
		if content.published { // by a transaction that has to run again
			var err error
			if content, err = s.db.media.add(bytes); err != nil {
				return err
			}
		}
		name, err := "", error(nil)
		if key, name, err = tx.createImage(ctx, op, s, p.Record, p.StoreID); err != nil {
			return err
		}
		return content.publish(name)
	})
	content.discard()
	if err != nil {
		return 0, err
	}
	return key, nil
}

// checkNew checks what is said of a new image.
func (s productImages) checkNew(op string, r adapter.Record) error {
	invalid := func(field string, err error) error {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: field, Err: err}
	}
	for i, v := range r.Values {
		a := &s.table.schema.Attributes[i]
		if _, err := s.db.engine.bind(a, v); err != nil {
			return invalid(a.Name, err)
		}
		if a.ReadOnly && v.Kind() != adapter.Absent {
			return invalid(a.Name, errReadOnly)
		}
	}
	switch {
	case r.Get("content").Text() == "":
		return invalid("content", errNoContent)
	case !validBlobName(r.Get("file").Text()):
		return invalid("file", errBlobName)
	case r.Get("media_type").Text() == "":
		return invalid("media_type", errKind)
	}
	return checkImageTypes(op, r)
}

func checkImageTypes(op string, r adapter.Record) error {
	for _, name := range r.Get("types").Texts() {
		if !slices.Contains(imageTypes(), name) {
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "types", Err: errImageType}
		}
	}
	return nil
}

// createImage stores an image at a level, and returns its key and its name.
func (s *saving) createImage(ctx context.Context, op string, images productImages, r adapter.Record, level int64) (key adapter.Key, name string, err error) {
	product, err := s.product(ctx, adapter.Key(r.Get("product_id").Int()), 0)
	if errors.Is(err, sql.ErrNoRows) {
		err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "product_id", Err: errProduct}
	}
	if err != nil {
		return 0, "", err
	}
	others, err := s.gallery(ctx, keyOf(product), level)
	if err != nil {
		return 0, "", err
	}
	v := imageValues{}.changed(r).frozen()
	if r.Get("position").Empty() {
		v.position.Int64 = afterAll(others)
	}
	pointers, err := s.freezeProduct(ctx, product, level)
	if err != nil {
		return 0, "", err
	}
	row := adapter.NewRecord(r.Schema)
	for _, name := range []string{"product_id", "media_type"} {
		row.Set(name, r.Get(name))
	}
	if name, err = s.takeName(ctx, r.Get("file").Text(), max(1, r.Get("number_from").Int()), r.Get("media_type").Text()); err != nil {
		return 0, "", err
	}
	row.Set("file", adapter.TextValue(name))
	s.texts = append(s.texts, images.insert)
	if key, err = images.create(ctx, s.tx, op, row); err != nil {
		return 0, "", err
	}
	if err = s.setImage(ctx, image{id: int64(key)}, level, v); err != nil {
		return 0, "", err
	}
	if err = s.setTypes(ctx, keyOf(product), pointers, level, int64(key), r.Get("types").Texts()); err != nil {
		return 0, "", err
	}
	return key, name, s.touch(ctx, keyOf(product), level, int64(key))
}

// afterAll returns the position behind images, as the level shows them.
func afterAll(images []image) int64 {
	var last int64
	for _, i := range images {
		last = max(last, i.shown().position.Int64)
	}
	return min(last+1, maxPosition)
}

// changed returns v with the values that r has.
func (v imageValues) changed(r adapter.Record) imageValues {
	if label := r.Get("label"); label.Kind() != adapter.Absent {
		v.label = sql.NullString{String: label.Text(), Valid: !label.Empty()}
	}
	for name, number := range map[string]*sql.NullInt64{"position": &v.position, "exclude": &v.exclude} {
		if given := r.Get(name); !given.Empty() {
			*number = sql.NullInt64{Int64: given.Int(), Valid: true}
		}
	}
	return v
}

// freezeProduct keeps at a store view what the product shows there, beside its
// images, and returns where its types point.
func (s *saving) freezeProduct(ctx context.Context, product adapter.Record, level int64) (pointers, error) {
	all, err := s.pointers(ctx, keyOf(product))
	if err != nil || level == 0 {
		return all, err
	}
	if err := s.freezeValues(ctx, product, level); err != nil {
		return nil, err
	}
	return all, s.copyTypes(ctx, keyOf(product), all, level, level)
}

// setTypes points the types called names to an image at a level.
func (s *saving) setTypes(ctx context.Context, product adapter.Key, all pointers, level, image int64, names []string) error {
	for _, name := range names {
		if err := s.point(ctx, product, all, level, name, sql.NullInt64{Int64: image, Valid: true}); err != nil {
			return err
		}
	}
	return nil
}

// clearTypes makes the types that show an image at a level, but for those called
// keep, point to none there.
func (s *saving) clearTypes(ctx context.Context, product adapter.Key, all pointers, level, image int64, keep []string) error {
	for _, name := range imageTypes() {
		shown, _ := all.shown(level, name)
		if !shown.Valid || shown.Int64 != image || slices.Contains(keep, name) {
			continue
		}
		if err := s.point(ctx, product, all, level, name, sql.NullInt64{}); err != nil {
			return err
		}
	}
	return nil
}

// image locks the product of an image, and returns both, the image as a level
// shows it. ownerID is as in product.
func (s *saving) image(ctx context.Context, images productImages, key adapter.Key, level, ownerID int64) (product, image adapter.Record, err error) {
	rows, err := s.query(ctx, "SELECT product_id FROM product_image WHERE id = ?", int64(key))
	if err != nil {
		return product, image, err
	}
	var of int64
	if err = scanOne(rows, &of); err != nil {
		return product, image, err
	}
	if product, err = s.product(ctx, adapter.Key(of), ownerID); err != nil {
		return product, image, err
	}
	image, err = images.one(ctx, s.query, key, level)
	return product, image, err
}

// Update changes an image at one level.
func (s productImages) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update product_images %d", p.Key)
	return s.db.products.save(ctx, op, func(tx *saving) error {
		product, current, err := tx.image(ctx, s, p.Key, p.StoreID, p.OwnerID)
		if err != nil {
			return err
		}
		change, err := p.Change(current.Clone())
		if err != nil {
			return &callerError{err}
		}
		if err := s.checkChange(op, current, change); err != nil {
			return err
		}
		return tx.updateImage(ctx, product, p.Key, change, p.StoreID)
	})
}

// checkChange checks the change of an image.
func (s productImages) checkChange(op string, current, change adapter.Record) error {
	for i, v := range change.Values {
		if v.Kind() == adapter.Absent {
			continue
		}
		a := &s.table.schema.Attributes[i]
		differs, err := s.differs(op, i, current, v)
		if err == nil && differs && (a.ReadOnly || a.Fixed) {
			err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errReadOnly}
		}
		if err == nil && differs && a.Kind == adapter.KindInteger && v.Empty() {
			err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errKind}
		}
		if err != nil {
			return err
		}
	}
	return checkImageTypes(op, change)
}

func (s *saving) updateImage(ctx context.Context, product adapter.Record, key adapter.Key, change adapter.Record, level int64) error {
	all, err := s.freezeProduct(ctx, product, level)
	if err != nil {
		return err
	}
	images, err := s.gallery(ctx, keyOf(product), level)
	if err != nil {
		return err
	}
	for _, i := range images {
		if i.id != int64(key) {
			continue
		}
		if err := s.setImage(ctx, i, level, i.shown().changed(change).frozen()); err != nil {
			return err
		}
	}
	if types := change.Get("types"); types.Kind() != adapter.Absent {
		if err := s.clearTypes(ctx, keyOf(product), all, level, int64(key), types.Texts()); err != nil {
			return err
		}
		if err := s.setTypes(ctx, keyOf(product), all, level, int64(key), types.Texts()); err != nil {
			return err
		}
	}
	return s.touch(ctx, keyOf(product), level, int64(key))
}

// Delete takes the types of an image at one level from it, and removes it from
// the gallery when no other level uses it.
func (s productImages) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete product_images %d", p.Key)
	return s.db.products.save(ctx, op, func(tx *saving) error {
		product, current, err := tx.image(ctx, s, p.Key, p.StoreID, p.OwnerID)
		if err != nil {
			return err
		}
		if err := allowFor(p.Check, current); err != nil {
			return err
		}
		all, err := tx.freezeProduct(ctx, product, p.StoreID)
		if err != nil {
			return err
		}
		if err := tx.clearTypes(ctx, keyOf(product), all, p.StoreID, int64(p.Key), nil); err != nil {
			return err
		}
		if err := tx.touch(ctx, keyOf(product), p.StoreID, int64(p.Key)); err != nil || p.OnlyLevel {
			return err
		}
		if used, err := tx.used(ctx, keyOf(product), all, p.StoreID, int64(p.Key)); err != nil || used {
			return err
		}
		return tx.exec(ctx, s.remove, int64(p.Key))
	})
}

// used reports whether a type points to an image at another level than one: in
// the default scope, or at a store view of a website that sells the product.
func (s *saving) used(ctx context.Context, product adapter.Key, all pointers, level, image int64) (bool, error) {
	var views []any
	for p, points := range all {
		switch {
		case p.level == level || !points.Valid || points.Int64 != image:
		case p.level == 0:
			return true, nil
		default:
			views = append(views, p.level)
		}
	}
	if len(views) == 0 {
		return false, nil
	}
	sb := s.db.engine.flavor.NewSelectBuilder()
	sb.Select("1").From("store").Join("product_website", "product_website.website_id = store.website_id")
	text, arguments := sb.Where(sb.Equal("product_website.product_id", int64(product)), sb.In("store.store_id", filledUp(views)...)).Build()
	return s.finds(ctx, text, arguments...)
}
