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
	errImageType = errors.New("unknown image type")
	errProduct   = errors.New("no such product")
	errNoContent = errors.New("the image is empty")
)

// Create adds an image to the gallery of a product, with values at one level.
//
// It writes the file before the transaction begins and renames it before the
// transaction commits: a file without an image does no harm, an image without its file
// would. If the outcome of a commit is unknown, the file stays.
func (s productImages) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	const op = "create product_images"
	if s.db.media.directory == "" {
		return 0, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoMedia}
	}
	bytes := []byte(p.Record.Get("content").Text())
	content := &pendingBlob{published: true} // a placeholder that discard ignores
	invalid := s.checkNew(op, p.Record)
	if invalid == nil {
		var err error
		if content, err = s.db.media.add(bytes); err != nil {
			return 0, s.db.wrapError(ctx, op, err)
		}
	}
	var key adapter.Key
	err := s.db.products.save(ctx, op, func(tx *productTx) error {
		if err := runCheck(p.Check); err != nil {
			return err
		}
		if invalid != nil {
			return invalid
		}
		if content.published { // by an earlier attempt of this transaction
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

// checkNew checks the attributes of a new image.
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

// createImage stores an image with values at one level, and returns its key and its
// file name.
func (s *productTx) createImage(ctx context.Context, op string, images productImages, r adapter.Record, level int64) (key adapter.Key, name string, err error) {
	product, err := s.lockProduct(ctx, adapter.Key(r.Get("product_id").Int()), 0)
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
	v := imageValues{}.withChange(r).frozen()
	if r.Get("position").Empty() {
		v.position.Int64 = nextPosition(others)
	}
	pointers, err := s.freezeProduct(ctx, product, level)
	if err != nil {
		return 0, "", err
	}
	row := adapter.NewRecord(r.Schema)
	for _, name := range []string{"product_id", "media_type"} {
		row.Set(name, r.Get(name))
	}
	if name, err = s.reserveName(ctx, r.Get("file").Text(), max(1, r.Get("number_from").Int()), r.Get("media_type").Text()); err != nil {
		return 0, "", err
	}
	row.Set("file", adapter.TextValue(name))
	s.executed = append(s.executed, images.insertSQL)
	if key, err = images.create(ctx, s.tx, op, row); err != nil {
		return 0, "", err
	}
	if err = s.setImage(ctx, image{id: int64(key)}, level, v); err != nil {
		return 0, "", err
	}
	if err = s.setTypes(ctx, keyOf(product), pointers, level, int64(key), r.Get("types").Texts()); err != nil {
		return 0, "", err
	}
	return key, name, s.finishPartSave(ctx, keyOf(product), level, int64(key))
}

// nextPosition returns the position after the images, as a level shows them.
func nextPosition(images []image) int64 {
	var last int64
	for _, i := range images {
		last = max(last, i.effective().position.Int64)
	}
	return min(last+1, maxPosition)
}

// withChange returns v with the values that r has.
func (v imageValues) withChange(r adapter.Record) imageValues {
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

// freezeProduct stores at a store view the values that the product shows there, and
// returns its image pointers. Images are left to finishSave. At level 0 it changes
// nothing.
func (s *productTx) freezeProduct(ctx context.Context, product adapter.Record, level int64) (pointers, error) {
	all, err := s.loadPointers(ctx, keyOf(product))
	if err != nil || level == 0 {
		return all, err
	}
	if err := s.freezeValues(ctx, product, level); err != nil {
		return nil, err
	}
	return all, s.copyTypes(ctx, keyOf(product), all, level, level)
}

// setTypes points the named types to an image at a level.
func (s *productTx) setTypes(ctx context.Context, product adapter.Key, all pointers, level, image int64, names []string) error {
	for _, name := range names {
		if err := s.setPointer(ctx, product, all, level, name, sql.NullInt64{Int64: image, Valid: true}); err != nil {
			return err
		}
	}
	return nil
}

// clearTypes clears, at a level, the pointers of all types that show an image there,
// except for the types in keep.
func (s *productTx) clearTypes(ctx context.Context, product adapter.Key, all pointers, level, image int64, keep []string) error {
	for _, name := range imageTypes() {
		shown, _ := all.effective(level, name)
		if !shown.Valid || shown.Int64 != image || slices.Contains(keep, name) {
			continue
		}
		if err := s.setPointer(ctx, product, all, level, name, sql.NullInt64{}); err != nil {
			return err
		}
	}
	return nil
}

// lockImage locks the product of an image and returns both, with the image's values at
// a level. ownerID is as for lockProduct.
func (s *productTx) lockImage(ctx context.Context, images productImages, key adapter.Key, level, ownerID int64) (product, image adapter.Record, err error) {
	rows, err := s.query(ctx, "SELECT product_id FROM product_image WHERE id = ?", int64(key))
	if err != nil {
		return product, image, err
	}
	var of int64
	if err = scanOne(rows, &of); err != nil {
		return product, image, err
	}
	if product, err = s.lockProduct(ctx, adapter.Key(of), ownerID); err != nil {
		return product, image, err
	}
	image, err = images.one(ctx, s.query, key, level)
	return product, image, err
}

// Update changes an image at one level.
func (s productImages) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update product_images %d", p.Key)
	return s.db.products.save(ctx, op, func(tx *productTx) error {
		product, current, err := tx.lockImage(ctx, s, p.Key, p.StoreID, p.OwnerID)
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

// checkChange checks the changed attributes of an image.
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

func (s *productTx) updateImage(ctx context.Context, product adapter.Record, key adapter.Key, change adapter.Record, level int64) error {
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
		if err := s.setImage(ctx, i, level, i.effective().withChange(change).frozen()); err != nil {
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
	return s.finishPartSave(ctx, keyOf(product), level, int64(key))
}

// Delete clears an image's types at one level, and deletes the image unless another
// level uses it or p.OnlyLevel is set.
func (s productImages) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete product_images %d", p.Key)
	return s.db.products.save(ctx, op, func(tx *productTx) error {
		product, current, err := tx.lockImage(ctx, s, p.Key, p.StoreID, p.OwnerID)
		if err != nil {
			return err
		}
		if err := runRecordCheck(p.Check, current); err != nil {
			return err
		}
		all, err := tx.freezeProduct(ctx, product, p.StoreID)
		if err != nil {
			return err
		}
		if err := tx.clearTypes(ctx, keyOf(product), all, p.StoreID, int64(p.Key), nil); err != nil {
			return err
		}
		if err := tx.finishPartSave(ctx, keyOf(product), p.StoreID, int64(p.Key)); err != nil || p.OnlyLevel {
			return err
		}
		if used, err := tx.usedElsewhere(ctx, keyOf(product), all, p.StoreID, int64(p.Key)); err != nil || used {
			return err
		}
		return tx.exec(ctx, s.deleteSQL, int64(p.Key))
	})
}

// usedElsewhere reports whether a type points to an image at another level than the
// given one: in the default scope, or at a store view of a website that sells the
// product.
func (s *productTx) usedElsewhere(ctx context.Context, product adapter.Key, all pointers, level, image int64) (bool, error) {
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
	text, arguments := sb.Where(sb.Equal("product_website.product_id", int64(product)), sb.In("store.store_id", padToPowerOfTwo(views)...)).Build()
	return s.rowExists(ctx, text, arguments...)
}
