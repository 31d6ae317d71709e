package sqlstore

import (
	"context"
	"database/sql"

	"github.com/portico-commerce/portico/adapter"
)

// imageValues are the values that an image has at one level. An empty label counts as
// none.
type imageValues struct {
	label             sql.NullString
	position, exclude sql.NullInt64
}

// An image is an image of a product's gallery, with its values at a level and in the
// default scope.
type image struct {
	id          int64
	stored      bool // there is a row for the level
	own, global imageValues
}

// effective returns the values that the image shows at the level (product_parts 2.7).
func (i *image) effective() imageValues {
	v := i.own
	if v.label.String == "" {
		v.label = i.global.label
	}
	if !v.position.Valid {
		v.position = i.global.position
	}
	if !v.exclude.Valid {
		v.exclude = i.global.exclude
	}
	return v
}

// frozen returns the form of v that a save stores: no empty label, and always a
// position and an exclude.
func (v imageValues) frozen() imageValues {
	v.label.Valid = v.label.String != ""
	v.position.Valid, v.exclude.Valid = true, true
	return v
}

// gallery returns the images of a product with their values at a level, in the order of
// their ids.
func (s *productTx) gallery(ctx context.Context, product adapter.Key, level int64) ([]image, error) {
	rows, err := s.query(ctx, "SELECT product_image.id, v.store_id, v.label, v.position, v.exclude FROM product_image"+
		" LEFT JOIN product_image_value v ON v.image_id = product_image.id AND v.store_id IN (0, ?)"+
		" WHERE product_image.product_id = ? ORDER BY product_image.id", level, int64(product))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var images []image
	for rows.Next() {
		var id int64
		var at sql.NullInt64
		var v imageValues
		if err := rows.Scan(&id, &at, &v.label, &v.position, &v.exclude); err != nil {
			return nil, err
		}
		if len(images) == 0 || images[len(images)-1].id != id {
			images = append(images, image{id: id})
		}
		i := &images[len(images)-1]
		if at.Valid && at.Int64 == 0 {
			i.global = v
		}
		if at.Valid && at.Int64 == level {
			i.own, i.stored = v, true
		}
	}
	return images, rows.Err()
}

// freezeImages stores at a level the values that the images of a product show there, so
// that later changes of the default scope do not affect them. It leaves out the image
// except.
func (s *productTx) freezeImages(ctx context.Context, product adapter.Key, level, except int64) error {
	images, err := s.gallery(ctx, product, level)
	if err != nil {
		return err
	}
	for _, i := range images {
		if i.id == except {
			continue
		}
		if err := s.setImage(ctx, i, level, i.effective().frozen()); err != nil {
			return err
		}
	}
	return nil
}

// setImage stores the values of an image at a level.
func (s *productTx) setImage(ctx context.Context, i image, level int64, v imageValues) error {
	switch {
	case !i.stored:
		return s.exec(ctx, "INSERT INTO product_image_value (image_id, store_id, label, position, exclude) VALUES (?, ?, ?, ?, ?)",
			i.id, level, v.label, v.position, v.exclude)
	case i.own != v:
		return s.exec(ctx, "UPDATE product_image_value SET label = ?, position = ?, exclude = ? WHERE image_id = ? AND store_id = ?",
			v.label, v.position, v.exclude, i.id, level)
	default:
		return nil
	}
}

// copyImages copies the image values and types that the product shows from one store
// view to another.
func (s *productTx) copyImages(ctx context.Context, product adapter.Key, from, to int64) error {
	source, err := s.gallery(ctx, product, from)
	if err != nil {
		return err
	}
	target, err := s.gallery(ctx, product, to)
	if err != nil {
		return err
	}
	for i := range source {
		if err := s.setImage(ctx, target[i], to, source[i].effective().frozen()); err != nil {
			return err
		}
	}
	pointers, err := s.loadPointers(ctx, product)
	if err != nil {
		return err
	}
	return s.copyTypes(ctx, product, pointers, from, to)
}
