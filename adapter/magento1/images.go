package magento1

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// noSelection is the value of a role to which no image was chosen.
const noSelection = "no_selection"

// roles returns the attributes of products that name an image, with the attributes of the
// record that point to it.
func roles() map[string]string {
	return map[string]string{"image": "image_id", "small_image": "small_image_id", "thumbnail": "thumbnail_id"}
}

// An imageReader reads the images of products: for each product one aggregate with the key of the
// product, its images as parts, and for store view 0 and others the values of the images (label,
// position, exclude) and the images that the product's roles point to.
type imageReader struct {
	d        *Database
	products *adapter.Schema
	images   *adapter.Schema
	rows     *tableReader
	roles    *eavReader
	pointers []int // index in products by the attribute index of roles.read
	gallery  int64 // attribute_id of media_gallery
	views    *shopViews
}

func (m *imageReader) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	m.products, m.images = m.d.schemas.Of(adapter.Products), m.d.schemas.Of(adapter.ProductImages)
	if m.views, err = readViews(ctx, m.d.conn, tx); err != nil {
		return err
	}
	m.pointers = nil
	e := productEntity()
	e.part = Images
	if m.roles, err = newEAVReader(ctx, m.d.conn, tx, e, m.pointer); err != nil {
		return err
	}
	for _, a := range m.roles.attributes {
		if a.code == "media_gallery" {
			m.gallery = a.id
		}
	}
	f := productTable()
	f.part = Images
	m.rows, err = m.d.newTableReader(ctx, tx, f)
	return err
}

// pointer wants the roles.
func (m *imageReader) pointer(code string) (int, bool) {
	at, ok := m.products.Index(roles()[code])
	if ok {
		m.pointers = append(m.pointers, at)
	}
	return len(m.pointers) - 1, ok
}

func (m *imageReader) next(ctx context.Context, tx *sql.Tx, w window) ([]adapter.Aggregate, int64, error) {
	b := &imageBatch{imageReader: m, index: map[int64]int{}, files: map[imageFile]int64{}, levels: map[imageLevel]adapter.Record{}, window: w.until(w.after)}
	err := m.d.conn.Each(ctx, tx, "SELECT entity_id FROM "+m.d.conn.Table("catalog_product_entity")+" WHERE "+w.has("entity_id")+
		" ORDER BY entity_id LIMIT "+formatID(int64(w.limit)), func(r row) error {
		b.add(r.ID(0))
		return nil
	})
	if b.through = w.looked(len(b.aggregates), b.through); err == nil && b.through == w.after {
		return nil, w.after, m.skipOrphans(ctx, tx, w.after, w.through)
	}
	for _, step := range []func(context.Context, *sql.Tx) error{b.addImages, b.setValues, b.setPointers} {
		if err == nil {
			err = step(ctx, tx)
		}
	}
	b.sortLevels()
	return b.aggregates, b.through, err
}

// skipOrphans reports the images of products with ids in (after, through], none of which exists.
func (m *imageReader) skipOrphans(ctx context.Context, tx *sql.Tx, after, through int64) error {
	const table = "catalog_product_entity_media_gallery"
	return m.d.conn.eachIfTable(ctx, tx, table, "SELECT entity_id, value_id FROM "+m.d.conn.Table(table)+" WHERE "+between("entity_id", after, through)+
		" ORDER BY entity_id, value_id LIMIT "+formatID(maxOrphans), func(r row) error {
		m.d.conn.skip(Images, table, fmt.Sprintf("product %d, image %d", r.ID(0), r.ID(1)), ReasonNoRecord)
		return nil
	})
}

// An imageBatch is a batch of products with their images.
type imageBatch struct {
	*imageReader
	aggregates []adapter.Aggregate
	index      map[int64]int       // by product
	files      map[imageFile]int64 // ids of images
	levels     map[imageLevel]adapter.Record
	window     // of the products that were looked at
}

type imageFile struct {
	product int64
	file    string
}

// An imageLevel is an image, or with image 0 a product, at a store view.
type imageLevel struct{ product, image, store int64 }

// add adds a product.
func (b *imageBatch) add(product int64) {
	r := adapter.NewRecord(b.products)
	r.Set(b.products.Key, adapter.IntegerValue(product))
	b.index[product], b.through = len(b.aggregates), product
	b.aggregates = append(b.aggregates, adapter.Aggregate{Record: r, PartsOnly: true, PartsOf: []adapter.Resource{adapter.ProductImages}})
}

// addImages adds the images with their files.
func (b *imageBatch) addImages(ctx context.Context, tx *sql.Tx) error {
	const table = "catalog_product_entity_media_gallery"
	return b.d.conn.eachIfTable(ctx, tx, table, "SELECT entity_id, value_id, attribute_id, value FROM "+b.d.conn.Table(table)+" WHERE "+
		b.has("entity_id")+" ORDER BY value_id", func(r row) error {
		product, id := r.ID(0), r.ID(1)
		i, ok := b.index[product]
		file, valid := b.fileOf(r[3])
		reason := ""
		switch {
		case !ok:
			reason = ReasonNoRecord
		case r.ID(2) != b.gallery:
			reason = ReasonNoAttribute
		case !valid:
			reason = ReasonFile
		}
		if reason != "" {
			b.d.conn.skip(Images, table, fmt.Sprintf("product %d, image %d", product, id), reason)
			return nil
		}
		image := adapter.NewRecord(b.images)
		image.Set("id", adapter.IntegerValue(id))
		image.Set("product_id", adapter.IntegerValue(product))
		image.Set("file", adapter.TextValue(file))
		b.aggregates[i].Parts = append(b.aggregates[i].Parts, image)
		if _, taken := b.files[imageFile{product, file}]; !taken {
			b.files[imageFile{product, file}] = id
		}
		return nil
	})
}

// fileOf returns the path of a file below the media folder, without a slash in front. ok is
// false if it names no file there.
func (b *imageBatch) fileOf(column sql.RawBytes) (file string, ok bool) {
	file, ok = b.d.conn.Text.Decode(column)
	file = strings.TrimLeft(file, "/")
	return file, ok && file != "." && fs.ValidPath(file) && !strings.Contains(file, `\`)
}

// level returns the record of an image, or with image 0 of the product, at a store view. It adds
// the scope's record if there is none.
func (b *imageBatch) level(i int, image, store int64) adapter.Record {
	a := &b.aggregates[i]
	at := imageLevel{keyOf(a.Record), image, store}
	if r, ok := b.levels[at]; ok {
		return r
	}
	r := adapter.NewRecord(b.products)
	r.Set(b.products.Key, a.Record.Get(b.products.Key))
	if image != 0 {
		r = adapter.NewRecord(b.images)
		r.Set("id", adapter.IntegerValue(image))
		r.Set("product_id", a.Record.Get(b.products.Key))
	}
	b.levels[at] = r
	a.Levels = append(a.Levels, adapter.Level{StoreID: store, Record: r})
	return r
}

// setValues sets the values of images at store views. A column that is NULL is absent: the default
// scope's value applies.
func (b *imageBatch) setValues(ctx context.Context, tx *sql.Tx) error {
	const table = "catalog_product_entity_media_gallery_value"
	return b.d.conn.eachIfTable(ctx, tx, table, "SELECT g.entity_id, v.value_id, v.store_id, v.label, v.position, v.disabled FROM "+b.d.conn.Table(table)+" v JOIN "+
		b.d.conn.Table("catalog_product_entity_media_gallery")+" g ON g.value_id = v.value_id WHERE "+b.has("g.entity_id")+
		" AND g.attribute_id = "+formatID(b.gallery), func(r row) error {
		i, ok := b.index[r.ID(0)]
		if !ok || !b.hasImage(i, r.ID(1)) {
			return nil // the image has been skipped
		}
		key := fmt.Sprintf("product %d, image %d, store %d", r.ID(0), r.ID(1), r.ID(2))
		if !b.views.isScope(r.ID(2)) {
			b.d.conn.skip(Images, table, key, ReasonNoStore)
			return nil
		}
		level := b.level(i, r.ID(1), r.ID(2))
		for column, name := range []string{"label", "position", "exclude"} {
			if r[3+column] == nil {
				continue
			}
			v, problem := b.d.conn.valueOf(b.images.Attributes[mustIndex(b.images, name)].Kind, r[3+column])
			if problem != "" {
				b.d.conn.skip(Images, table, key+", "+name, problem)
			}
			level.Set(name, v)
		}
		return nil
	})
}

// hasImage reports whether a product has an image.
func (b *imageBatch) hasImage(i int, id int64) bool {
	_, ok := slices.BinarySearchFunc(b.aggregates[i].Parts, id, func(part adapter.Record, id int64) int { return cmp.Compare(keyOf(part), id) })
	return ok
}

// setPointers sets to which images the roles point.
func (b *imageBatch) setPointers(ctx context.Context, tx *sql.Tx) error {
	return b.roles.read(ctx, tx, b.window, func(v value) {
		i, ok := b.index[v.entity]
		switch {
		case !ok:
			b.roles.skip(v, ReasonNoRecord)
			return
		case !b.views.isScope(v.store):
			b.roles.skip(v, ReasonNoStore)
			return
		}
		pointer := adapter.NullValue()
		if name := string(v.column); name != "" && name != noSelection {
			file, _ := b.fileOf(v.column)
			if id, ok := b.files[imageFile{v.entity, file}]; ok {
				pointer = adapter.IntegerValue(id)
			} else {
				b.roles.skip(v, ReasonFile)
			}
		}
		b.level(i, 0, v.store).Values[b.pointers[v.at]] = pointer
	})
}

// sortLevels sorts the scopes by store view, the product's before its images' scopes.
func (b *imageBatch) sortLevels() {
	order := func(l adapter.Level) int64 {
		if l.Record.Schema == b.products {
			return 0
		}
		return keyOf(l.Record)
	}
	for _, a := range b.aggregates {
		slices.SortFunc(a.Levels, func(x, y adapter.Level) int {
			return cmp.Or(cmp.Compare(x.StoreID, y.StoreID), cmp.Compare(order(x), order(y)))
		})
	}
}
