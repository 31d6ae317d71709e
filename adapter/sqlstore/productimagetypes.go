package sqlstore

import (
	"context"
	"database/sql"

	"github.com/portico-commerce/portico/adapter"
)

// pointers hold the images to which the types of a product point, for each level. A
// null means that the type points to no image.
type pointers map[pointer]sql.NullInt64

// A pointer identifies one type at one level.
type pointer struct {
	level int64
	name  string
}

// effective returns the image to which a type points at a level, null for none. ok is
// false if neither the level nor the default scope has a pointer.
func (p pointers) effective(level int64, name string) (image sql.NullInt64, ok bool) {
	if image, ok = p[pointer{level, name}]; !ok {
		image, ok = p[pointer{0, name}]
	}
	return image, ok
}

// loadPointers returns the pointers of a product.
func (s *productTx) loadPointers(ctx context.Context, product adapter.Key) (pointers, error) {
	rows, err := s.query(ctx, "SELECT store_id, type, image_id FROM product_image_pointer WHERE product_id = ?", int64(product))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	all := pointers{}
	for rows.Next() {
		var p pointer
		var image sql.NullInt64
		if err := rows.Scan(&p.level, &p.name, &image); err != nil {
			return nil, err
		}
		all[p] = image
	}
	return all, rows.Err()
}

// setPointer points a type to an image at a level, or to none if image is null. It
// updates all as well.
func (s *productTx) setPointer(ctx context.Context, product adapter.Key, all pointers, level int64, name string, image sql.NullInt64) error {
	p := pointer{level, name}
	was, stored := all[p]
	all[p] = image
	switch {
	case !stored:
		return s.exec(ctx, "INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES (?, ?, ?, ?)", int64(product), level, name, image)
	case was != image:
		return s.exec(ctx, "UPDATE product_image_pointer SET image_id = ? WHERE product_id = ? AND store_id = ? AND type = ?", image, int64(product), level, name)
	default:
		return nil
	}
}

// initPointers stores a pointer to no image for every type of a new product.
func (s *productTx) initPointers(ctx context.Context, product adapter.Key) error {
	ib := s.db.engine.flavor.NewInsertBuilder().InsertInto("product_image_pointer").Cols("product_id", "store_id", "type", "image_id")
	for _, name := range imageTypes() {
		ib.Values(int64(product), 0, name, nil)
	}
	text, arguments := ib.Build()
	return s.exec(ctx, text, arguments...)
}

// copyTypes copies the effective pointers from one store view to another, or, if both
// are the same, stores them there. Types without any pointer continue to follow the
// default scope.
func (s *productTx) copyTypes(ctx context.Context, product adapter.Key, all pointers, from, to int64) error {
	for _, name := range imageTypes() {
		if image, ok := all.effective(from, name); ok {
			if err := s.setPointer(ctx, product, all, to, name, image); err != nil {
				return err
			}
		}
	}
	return nil
}
