//go:build linux

package speed

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A writeFloor updates stock items, creates and updates products, and creates images: each request in one transaction
// with prepared statements, as durable as the program's own. SQLite has one writer.
type writeFloor struct {
	driver string
	pool   *sql.DB
	turn   sync.Mutex // of SQLite's writer
	media  string     // folder of images

	stock, setStock, sku, product, stockItem, pointers, stored, value, touch *floorStmt

	named, file, image, imageValue, touchOnly *floorStmt
}

// productColumns are the columns that a new product sets, in the order of the arguments of createProduct.
var productColumns = []string{"attribute_set_id", "type_id", "type_id_folded", "sku", "sku_folded", "created_at", "updated_at", "name", "name_folded", "url_key", "url_key_folded",
	"description", "description_folded", "short_description", "short_description_folded", "price", "weight", "status", "visibility", "tax_class_id",
	"options_container", "options_container_folded", "nulls"}

// newWriteFloor returns a writeFloor on a database.
func newWriteFloor(driver, dsn, media string) (f *writeFloor, err error) {
	if driver == "sqlite" {
		dsn = strings.ReplaceAll(dsn, "_pragma=query_only(1)", "_txlock=immediate")
	}
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(8)
	pool.SetMaxOpenConns(8)
	f = &writeFloor{driver: driver, pool: pool, media: media}
	db, lock := &floorDatabase{driver, pool}, ""
	if driver != "sqlite" {
		lock = " FOR UPDATE"
	}
	replaced := " ON CONFLICT (product_id, store_id, attribute) DO UPDATE SET value = excluded.value, value_folded = excluded.value_folded"
	if driver == "mysql" {
		replaced = " ON DUPLICATE KEY UPDATE value = VALUES(value), value_folded = VALUES(value_folded)"
	}
	for stmt, text := range map[**floorStmt]string{
		&f.stock:      "SELECT " + columnList("", stockFields) + " FROM stock_item WHERE item_id = ?1" + lock,
		&f.setStock:   "UPDATE stock_item SET qty = ?1, is_in_stock = ?2, low_stock_date = ?3 WHERE item_id = ?4",
		&f.named:      "SELECT 1 FROM media_file WHERE file = ?1",
		&f.file:       "INSERT INTO media_file (file, media_type) VALUES (?1, ?2)",
		&f.image:      "INSERT INTO product_image (product_id, file, media_type) VALUES (?1, ?2, ?3) RETURNING id",
		&f.imageValue: "INSERT INTO product_image_value (image_id, store_id, label, position, exclude) VALUES (?1, 0, ?2, ?3, ?4)",
		&f.touchOnly:  "UPDATE product SET updated_at = ?1 WHERE entity_id = ?2",
		&f.stored:     "SELECT name, short_description, price FROM product WHERE entity_id = ?1" + lock,
		&f.value:      "INSERT INTO product_value (product_id, store_id, attribute, value, value_folded) VALUES (?1, ?2, ?3, ?4, ?5)" + replaced,
		&f.touch:      "UPDATE product SET price = ?1, updated_at = ?2 WHERE entity_id = ?3",
		&f.sku:        "SELECT entity_id FROM product WHERE sku_folded = ?1",
		&f.product: "INSERT INTO product (" + columnList("", productColumns) + ") VALUES (" + parameters(len(productColumns)) +
			") RETURNING entity_id",
		&f.pointers:  "INSERT INTO product_image_pointer (product_id, store_id, type) VALUES (?1, 0, 'image'), (?1, 0, 'small_image'), (?1, 0, 'thumbnail')",
		&f.stockItem: "INSERT INTO stock_item (" + columnList("", stockFields[1:]) + ") VALUES (" + parameters(len(stockFields)-1) + ")",
	} {
		if *stmt, err = db.prepare(text); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// parameters returns n numbered parameters.
func parameters(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "?" + strconv.Itoa(i+1)
	}
	return strings.Join(list, ", ")
}

// inTx runs write in a transaction.
func (f *writeFloor) inTx(ctx context.Context, write func(*sql.Tx) error) error {
	if f.driver == "sqlite" {
		f.turn.Lock()
		defer f.turn.Unlock()
	}
	tx, err := f.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := write(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// A stockChange is an entry of a stock update.
type stockChange struct {
	ItemID int64   `json:"item_id"`
	Qty    float64 `json:"qty"`
}

// save stores the quantity of an item, and whether it is in stock.
func (f *writeFloor) save(ctx context.Context, tx *sql.Tx, change stockChange) error {
	values := make([]any, len(stockFields))
	found := false
	err := each(ctx, f.stock.in(ctx, tx), values, func() error { found = true; return nil }, change.ItemID)
	if err != nil || !found {
		return errors.Join(err, sql.ErrNoRows)
	}
	inStock, lowSince := values[13], any(nil)
	if change.Qty <= 0 {
		inStock = int64(0)
	}
	if change.Qty < 1 {
		lowSince = time.Now().UTC().Format(time.DateTime)
	}
	_, err = f.setStock.in(ctx, tx).ExecContext(ctx, change.Qty, inStock, lowSince, change.ItemID)
	return err
}

// updateStock answers PUT /stockitems.
func (f *writeFloor) updateStock(w http.ResponseWriter, r *http.Request) {
	var changes []stockChange
	if err := json.NewDecoder(r.Body).Decode(&changes); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := append(make([]byte, 0, 16<<10), `{"success":[`...)
	err := f.inTx(r.Context(), func(tx *sql.Tx) error {
		for i, change := range changes {
			if err := f.save(r.Context(), tx, change); err != nil {
				return err
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(append(out, `{"item_id":"`...), change.ItemID, 10)
			out = append(out, `","message":"Resource updated successful.","code":200}`...)
		}
		return nil
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, http.StatusMultiStatus, append(out, "]}"...))
}

// updateStockItem answers PUT /stockitems/:id.
func (f *writeFloor) updateStockItem(w http.ResponseWriter, r *http.Request) {
	var change stockChange
	err := json.NewDecoder(r.Body).Decode(&change)
	if err == nil {
		change.ItemID, err = strconv.ParseInt(r.PathValue("id"), 10, 64)
	}
	if err == nil {
		err = f.inTx(r.Context(), func(tx *sql.Tx) error { return f.save(r.Context(), tx, change) })
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// A newProduct is the body of a request that creates a product.
type newProduct struct {
	SKU              string  `json:"sku"`
	Name             string  `json:"name"`
	Description      string  `json:"description"`
	ShortDescription string  `json:"short_description"`
	Price            float64 `json:"price"`
	Weight           float64 `json:"weight"`
}

// createProduct answers POST /products.
func (f *writeFloor) createProduct(w http.ResponseWriter, r *http.Request) {
	var p newProduct
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var key int64
	err := f.inTx(r.Context(), func(tx *sql.Tx) (err error) {
		key, err = f.insert(r.Context(), tx, &p)
		return err
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Location", "/api/rest/products/"+strconv.FormatInt(key, 10))
	w.WriteHeader(http.StatusOK)
}

// updateProduct answers PUT /products/:id/store/:store for a name, a short description and a price.
func (f *writeFloor) updateProduct(w http.ResponseWriter, r *http.Request) {
	var p newProduct
	err := json.NewDecoder(r.Body).Decode(&p)
	if err == nil {
		err = f.inTx(r.Context(), func(tx *sql.Tx) error {
			return f.saveProduct(r.Context(), tx, r.PathValue("id"), r.PathValue("store"), &p)
		})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// saveProduct stores the texts of a product at a store view, and its price, which all views share.
func (f *writeFloor) saveProduct(ctx context.Context, tx *sql.Tx, id, store string, p *newProduct) error {
	found := false
	err := each(ctx, f.stored.in(ctx, tx), make([]any, 3), func() error { found = true; return nil }, id)
	if err != nil || !found {
		return errors.Join(err, sql.ErrNoRows)
	}
	for attribute, value := range map[string]string{"name": p.Name, "short_description": p.ShortDescription} {
		if _, err := f.value.in(ctx, tx).ExecContext(ctx, id, store, attribute, value, strings.ToUpper(value)); err != nil {
			return err
		}
	}
	_, err = f.touch.in(ctx, tx).ExecContext(ctx, p.Price, time.Now().UTC().Format(time.DateTime), id)
	return err
}

// insert inserts a product and its parts, after it has looked for another with its SKU.
func (f *writeFloor) insert(ctx context.Context, tx *sql.Tx, p *newProduct) (key int64, err error) {
	err = each(ctx, f.sku.in(ctx, tx), make([]any, 1), func() error { return errTaken }, strings.ToUpper(p.SKU))
	if err != nil {
		return 0, err
	}
	urlKey := strings.ReplaceAll(strings.ToLower(p.Name), " ", "-")
	now := time.Now().UTC().Format(time.DateTime)
	arguments := []any{4, "simple", "SIMPLE", p.SKU, strings.ToUpper(p.SKU), now, now, p.Name, strings.ToUpper(p.Name), urlKey, strings.ToUpper(urlKey),
		p.Description, strings.ToUpper(p.Description), p.ShortDescription, strings.ToUpper(p.ShortDescription), p.Price, p.Weight, 1, 4, 2,
		"container1", "CONTAINER1", ",special_from_date,"}
	if err := f.product.in(ctx, tx).QueryRowContext(ctx, arguments...).Scan(&key); err != nil {
		return 0, err
	}
	if _, err := f.pointers.in(ctx, tx).ExecContext(ctx, f.pointers.bind([]any{key})...); err != nil {
		return 0, err
	}
	_, err = f.stockItem.in(ctx, tx).ExecContext(ctx, key, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, nil, nil, 1, 0, 1, 1, 1, 0, 1, 0, 0)
	return key, err
}

var errTaken = errors.New("the SKU is taken")

// A newImage is the body of a request that creates an image.
type newImage struct {
	MediaType string `json:"file_mime_type"`
	Name      string `json:"file_name"`
	Content   []byte `json:"file_content"`
	Label     string `json:"label"`
	Position  int    `json:"position"`
	Exclude   int    `json:"exclude"`
}

// createImage answers POST /products/:id/images.
func (f *writeFloor) createImage(w http.ResponseWriter, r *http.Request) {
	var i newImage
	err := json.NewDecoder(r.Body).Decode(&i)
	if err == nil {
		_, err = png.DecodeConfig(bytes.NewReader(i.Content))
	}
	var key int64
	if err == nil {
		key, err = f.store(r.Context(), r.PathValue("id"), &i)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Location", "/api/rest/products/"+r.PathValue("id")+"/images/"+strconv.FormatInt(key, 10))
	w.WriteHeader(http.StatusOK)
}

// store stores an image. Its bytes are on the disk before the transaction, and its name before the commit.
func (f *writeFloor) store(ctx context.Context, product string, i *newImage) (key int64, err error) {
	name := i.Name[:1] + "/" + i.Name[1:2] + "/" + i.Name + ".png"
	file, err := os.CreateTemp(f.media, "new-*")
	if err != nil {
		return 0, err
	}
	_, err = file.Write(i.Content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return 0, err
	}
	err = f.inTx(ctx, func(tx *sql.Tx) error {
		found := false
		err := each(ctx, f.stored.in(ctx, tx), make([]any, 3), func() error { found = true; return nil }, product)
		if err != nil || !found {
			return errors.Join(err, sql.ErrNoRows)
		}
		if err := each(ctx, f.named.in(ctx, tx), make([]any, 1), func() error { return errTaken }, name); err != nil {
			return err
		}
		if _, err := f.file.in(ctx, tx).ExecContext(ctx, name, i.MediaType); err != nil {
			return err
		}
		if err := f.image.in(ctx, tx).QueryRowContext(ctx, product, name, i.MediaType).Scan(&key); err != nil {
			return err
		}
		if _, err := f.imageValue.in(ctx, tx).ExecContext(ctx, key, i.Label, i.Position, i.Exclude); err != nil {
			return err
		}
		if _, err := f.touchOnly.in(ctx, tx).ExecContext(ctx, time.Now().UTC().Format(time.DateTime), product); err != nil {
			return err
		}
		return publish(file.Name(), filepath.Join(f.media, name))
	})
	return key, err
}

// publish gives a file its name, which is on the disk when it returns.
func publish(temporary, path string) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	directory, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
