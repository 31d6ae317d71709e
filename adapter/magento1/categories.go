package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// rootCategory is the id of the root of the tree, which is not a category of the contract.
const rootCategory = 1

// A categoryTree holds the parent of every category.
type categoryTree struct{ parentOf map[int64]int64 }

// readCategoryTree reads the tree.
func readCategoryTree(ctx context.Context, conn *connection, tx *sql.Tx) (*categoryTree, error) {
	t := &categoryTree{map[int64]int64{}}
	err := conn.Each(ctx, tx, "SELECT entity_id, parent_id FROM "+conn.Table("catalog_category_entity"), func(r row) error {
		t.parentOf[r.ID(0)] = r.ID(1)
		return nil
	})
	t.prune()
	return t, err
}

// prune removes the categories whose parents do not lead to the root.
func (t *categoryTree) prune() {
	good := map[int64]bool{rootCategory: true} // false while a category is on the path, and if it is not good
	for id := range t.parentOf {
		var path []int64
		at := id
		for {
			if _, known := good[at]; known {
				break
			}
			good[at] = false
			path = append(path, at)
			parent, exists := t.parentOf[at]
			if !exists || at <= 0 {
				break
			}
			at = parent
		}
		for _, one := range path {
			good[one] = good[at]
		}
	}
	for id := range t.parentOf {
		if !good[id] || id == rootCategory {
			delete(t.parentOf, id)
		}
	}
}

// has reports whether a category exists and its parents lead to the root.
func (t *categoryTree) has(id int64) bool { _, ok := t.parentOf[id]; return ok }

// A categoryReader reads categories, with their names at store views.
type categoryReader struct {
	entityReader
	tree *categoryTree
}

func (c *categoryReader) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	if c.tree, err = readCategoryTree(ctx, c.d.conn, tx); err != nil {
		return err
	}
	return c.entityReader.prepare(ctx, tx, categoryEntity(), flatTable{
		part: Categories, resource: adapter.Categories, table: "catalog_category_entity", keyColumn: "entity_id",
		columnNames: map[string]string{"category_id": "entity_id"},
	}, "name", "is_active")
}

func (c *categoryReader) next(ctx context.Context, tx *sql.Tx, w window) ([]adapter.Aggregate, int64, error) {
	b, last, err := c.entityReader.next(ctx, tx, w)
	if err != nil || b == nil {
		return nil, w.after, err
	}
	return c.checked(b.aggregates), last, nil
}

// checked completes the values of categories and leaves out categories that are not in the tree.
func (c *categoryReader) checked(all []adapter.Aggregate) (good []adapter.Aggregate) {
	for _, a := range all {
		id := keyOf(a.Record)
		if !c.tree.has(id) {
			if id != rootCategory {
				c.d.conn.skip(Categories, "catalog_category_entity", fmt.Sprintf("category %d", id), ReasonTree)
			}
			continue
		}
		if a.Record.Get("name").Empty() {
			a.Record.Set("name", adapter.TextValue(""))
		}
		if a.Record.Get("is_active").Empty() {
			a.Record.Set("is_active", zero())
		}
		// The legacy store takes is_active from the default scope everywhere.
		a.Levels = slices.DeleteFunc(a.Levels, func(l adapter.Level) bool {
			l.Record.Set("is_active", adapter.Value{})
			return l.Record.Get("name").Kind() == adapter.Absent
		})
		good = append(good, a)
	}
	return good
}
