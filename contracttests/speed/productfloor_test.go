//go:build linux

package speed

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A productFloor answers reads of products as the contract does in its documented dialect
// in JSON: a product and ten products of the default store view for Guests, and a hundred
// for an Admin, with two prepared statements for a Guest and one for an Admin.
type productFloor struct {
	single, singleParts, list, listParts, admin *floorStmt
	own                                         *floorStmt // values of own attributes, which are ownNames
	ownNames                                    []string
	percent                                     map[int64]int64 // by tax class, in ten-thousandths
	pages                                       sync.Pool
}

// The columns of a Guest's statements, with their names in the reply; a column without a
// name is not shown as it is stored.
const guestColumns = `p.entity_id, p.type_id, p.sku, p.description, p.short_description, p.meta_keyword, p.name, p.meta_title, p.meta_description,
	p.price, p.special_price, p.special_from_date, p.special_to_date, p.tax_class_id,
	(SELECT i.file FROM product_image_pointer AS o LEFT JOIN product_image AS i ON i.id = o.image_id
		WHERE o.product_id = p.entity_id AND o.type = 'image' AND o.store_id IN (0, 1) ORDER BY o.store_id DESC LIMIT 1)`

const singleColumns = guestColumns + ", p.status, p.visibility, p.url_key, s.is_in_stock, s.manage_stock, s.use_config_manage_stock"

var guestNames = []string{"entity_id", "type_id", "sku", "description", "short_description", "meta_keyword", "name", "meta_title", "meta_description"}

// Places of the columns that are not shown as they are stored.
const (
	floorPrice = iota + 9
	floorSpecial
	floorFrom
	floorTo
	floorTaxClass
	floorImage
	floorStatus
	floorVisibility
	floorURLKey
	floorInStock
	floorManaged
	floorUseConfig
	floorPlaces
)

var adminNames = []string{"entity_id", "type_id", "sku", "status", "visibility", "tax_class_id", "weight", "price", "special_price", "name", "url_key",
	"country_of_manufacture", "msrp_display_actual_price_type", "gift_message_available", "news_from_date", "news_to_date",
	"special_from_date", "special_to_date", "description"}

// A floorProduct is a product that is being read.
type floorProduct struct {
	values [floorPlaces]any
	tiers  []floorTier
	group  int64 // the price of the Guests' group, or -1
}

// A floorTier is a tier price.
type floorTier struct{ qty, price int64 }

// A floorPage holds the buffers for one request.
type floorPage struct {
	products []floorProduct
	into     []any
	ids      []any
	out      []byte
}

// newProductFloor returns a productFloor on a database.
func newProductFloor(db *floorDatabase) (*productFloor, error) {
	f := &productFloor{percent: map[int64]int64{}}
	f.pages.New = func() any { return &floorPage{} }
	// The columns: kind, product, attribute, its value, price and quantity.
	const tiers = "SELECT 0, product_id, NULL, NULL, price, price_qty FROM product_tier_price WHERE cust_group IN (0, 32000) AND product_id = ?1 UNION ALL "
	const parts = "SELECT 1, product_id, NULL, NULL, price, NULL FROM product_group_price WHERE cust_group = 0 AND product_id IN (LIST) UNION ALL " +
		"SELECT 2, product_id, attribute, value, NULL, NULL FROM product_value WHERE store_id = 1 AND product_id IN (LIST)"
	for stmt, text := range map[**floorStmt]string{
		&f.single: "SELECT " + singleColumns + " FROM product AS p LEFT JOIN stock_item AS s ON s.product_id = p.entity_id WHERE p.entity_id = ?1" +
			" AND EXISTS (SELECT 1 FROM product_website AS w WHERE w.product_id = ?1 AND w.website_id = 1)",
		&f.singleParts: tiers + strings.ReplaceAll(parts, "LIST", "?1"),
		&f.list: "SELECT " + guestColumns + " FROM product_listing AS l JOIN product AS p ON p.entity_id = l.product_id" +
			" WHERE l.store_id = 1 ORDER BY l.product_id LIMIT 10",
		&f.listParts: strings.ReplaceAll(parts, "LIST", "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10"),
		&f.own:       "SELECT product_id, value FROM product_default_value WHERE product_id BETWEEN ?1 AND ?2 ORDER BY product_id, attribute",
		&f.admin:     "SELECT " + strings.Join(adminNames, ", ") + " FROM product ORDER BY entity_id LIMIT 100",
	} {
		var err error
		if *stmt, err = db.prepare(text); err != nil {
			return nil, err
		}
	}
	// The tax rates for Guests, who are taxed at the address of the shop.
	rates, err := db.pool.Query("SELECT tax_class_id, rate FROM tax_rate WHERE country_id = 'US' AND region IN ('CA', '*') ORDER BY region")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rates.Close() }()
	for rates.Next() {
		var class int64
		var rate any
		if err := rates.Scan(&class, &rate); err != nil {
			return nil, err
		}
		f.percent[class] = units(asText(rate))
	}
	return f, errors.Join(rates.Err(), f.readOwnNames(db))
}

// readOwnNames reads the names of own attributes, of which each product has all.
func (f *productFloor) readOwnNames(db *floorDatabase) error {
	names, err := db.prepare("SELECT attribute FROM product_default_value WHERE product_id = (SELECT MIN(product_id) FROM product_default_value) ORDER BY attribute")
	if err != nil {
		return err
	}
	values := make([]any, 1)
	return errors.Join(each(context.Background(), names, values, func() error {
		f.ownNames = append(f.ownNames, values[0].(string))
		return nil
	}), names.Close())
}

// ServeHTTP answers GET /api/rest/products/:id, /api/rest/products and, as for an Admin,
// /api/rest/products?limit=100.
func (f *productFloor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := f.pages.Get().(*floorPage)
	defer f.pages.Put(page)
	page.products, page.ids, page.out = page.products[:0], page.ids[:0], page.out[:0]
	var err error
	switch id, single := strings.CutPrefix(r.URL.Path, "/api/rest/products/"); {
	case single:
		err = f.one(r, page, id)
	case r.URL.RawQuery == "limit=100":
		err = f.hundred(r.Context(), page)
	default:
		err = f.ten(r, page)
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	writeJSON(w, http.StatusOK, page.out)
}

// read reads the products of a statement with the given number of columns.
func (page *floorPage) read(ctx context.Context, stmt *floorStmt, columns int, arguments ...any) error {
	rows, err := stmt.query(ctx, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		page.products = append(page.products, floorProduct{group: -1})
		p := &page.products[len(page.products)-1]
		page.into = page.into[:0]
		for i := range columns {
			page.into = append(page.into, &p.values[i])
		}
		if err := rows.Scan(page.into...); err != nil {
			return err
		}
		withTexts(p.values[:columns])
		page.ids = append(page.ids, p.values[0])
	}
	return rows.Err()
}

// parts adds prices, and lets take set values of the store view.
func (page *floorPage) parts(ctx context.Context, stmt *floorStmt, take func(p *floorProduct, attribute string, value any)) error {
	rows, err := stmt.query(ctx, page.ids...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var kind, product int64
		var attribute, value, price, qty any
		if err := rows.Scan(&kind, &product, &attribute, &value, &price, &qty); err != nil {
			return err
		}
		attribute, value, price, qty = asText(attribute), asText(value), asText(price), asText(qty)
		p := &page.products[slices.Index(page.ids, any(product))]
		switch kind {
		case 0:
			p.tiers = append(p.tiers, floorTier{units(qty), units(price)})
		case 1:
			p.group = units(price)
		default:
			take(p, attribute.(string), value)
		}
	}
	return rows.Err()
}

// one answers with the product id.
func (f *productFloor) one(r *http.Request, page *floorPage, id string) error {
	key, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return err
	}
	if err := page.read(r.Context(), f.single, floorPlaces, key); err != nil {
		return err
	}
	if len(page.products) == 0 {
		return sql.ErrNoRows
	}
	p := &page.products[0]
	if err := page.parts(r.Context(), f.singleParts, takeSingle); err != nil {
		return err
	}
	status, _ := p.values[floorStatus].(int64)
	visibility, _ := p.values[floorVisibility].(int64)
	if status != 1 || visibility < 2 || visibility > 4 {
		return sql.ErrNoRows
	}
	now := time.Now().UTC()
	from, to := dateText(p.values[floorFrom]), dateText(p.values[floorTo])
	if end, err := time.Parse(time.DateTime, to); err == nil {
		to = end.Add(24 * time.Hour).Format(time.DateTime)
	}
	moment := now.Format(time.DateTime)
	out := f.guest(r, append(page.out, '{'), p, (from == "" || from <= moment) && (to == "" || moment <= to), true)
	out = f.appendTiers(append(out, `,"tier_price":[`...), p)
	inStock, _ := p.values[floorInStock].(int64)
	managed, _ := p.values[floorManaged].(int64)
	useConfig, _ := p.values[floorUseConfig].(int64)
	if managed == 0 && useConfig == 0 {
		inStock = 1
	}
	out = strconv.AppendInt(append(out, `],"is_in_stock":"`...), inStock, 10)
	base := "http://" + r.Host
	path := "/index.php/catalog/product/view/id/" + id + "/"
	if key, ok := p.values[floorURLKey].(string); ok && key != "" {
		path += "s/" + key + "/"
	}
	out = appendFloorText(append(out, `","url":`...), base+path)
	out = appendFloorText(append(out, `,"buy_now_url":`...), buyNow(r, id))
	page.out = append(out, `,"total_reviews_count":"0","has_custom_options":false}`...)
	return nil
}

// takeSingle sets a value of a store view that the reply for a single product contains.
func takeSingle(p *floorProduct, attribute string, value any) {
	if at := slices.Index(guestNames, attribute); at > 0 {
		p.values[at] = value
		return
	}
	takeWebsite(p, attribute, value)
	if attribute == "visibility" {
		p.values[floorVisibility] = whole(value)
	}
}

// takeWebsite sets a value of website scope.
func takeWebsite(p *floorProduct, attribute string, value any) {
	switch attribute {
	case "status":
		p.values[floorStatus] = whole(value)
	case "tax_class_id":
		p.values[floorTaxClass] = whole(value)
	case "special_from_date":
		p.values[floorFrom] = value
	case "special_to_date":
		p.values[floorTo] = value
	}
}

// ten answers with a page of ten products.
func (f *productFloor) ten(r *http.Request, page *floorPage) error {
	if err := page.read(r.Context(), f.list, floorStatus); err != nil {
		return err
	}
	if err := page.parts(r.Context(), f.listParts, takeWebsite); err != nil {
		return err
	}
	today := time.Now().UTC().Format(time.DateOnly)
	out := append(page.out, '{')
	for i := range page.products {
		p := &page.products[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(append(out, '"'), p.values[0].(int64), 10)
		from, to := dateText(p.values[floorFrom]), dateText(p.values[floorTo])
		from, to = from[:min(len(from), len(today))], to[:min(len(to), len(today))]
		out = append(f.guest(r, append(out, `":{`...), p, (from == "" || from <= today) && (to == "" || today <= to), false), '}')
	}
	page.out = append(out, '}')
	return nil
}

// guest appends the fields that list and single product have in common.
func (f *productFloor) guest(r *http.Request, out []byte, p *floorProduct, special, single bool) []byte {
	for i, name := range guestNames {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), `":`...)
		out = appendFloorValue(out, p.values[i], false)
	}
	class, _ := p.values[floorTaxClass].(int64)
	percent, price := f.percent[class], units(p.values[floorPrice])
	final := price
	if p.values[floorSpecial] != nil && special {
		final = min(final, units(p.values[floorSpecial]))
	}
	if p.group >= 0 {
		final = min(final, p.group)
	}
	out = appendCents(append(out, `,"regular_price_with_tax":`...), price, percent)
	out = appendCents(append(out, `,"regular_price_without_tax":`...), price, 0)
	out = appendCents(append(out, `,"final_price_with_tax":`...), final, percent)
	out = appendCents(append(out, `,"final_price_without_tax":`...), final, 0)
	saleable := "true"
	if single {
		saleable = `"0"`
		inStock, _ := p.values[floorInStock].(int64)
		managed, _ := p.values[floorManaged].(int64)
		useConfig, _ := p.values[floorUseConfig].(int64)
		if inStock != 0 || managed == 0 && useConfig == 0 {
			saleable = `"1"`
		}
	}
	out = append(append(out, `,"is_saleable":`...), saleable...)
	image := "/skin/frontend/base/default/images/catalog/product/placeholder/image.jpg"
	if file, ok := p.values[floorImage].(string); ok {
		image = "/media/catalog/product/cache/1/image/" + file
	}
	return appendFloorText(append(out, `,"image_url":`...), "http://"+r.Host+image)
}

// appendTiers appends the tier prices, of each quantity the lowest.
func (f *productFloor) appendTiers(out []byte, p *floorProduct) []byte {
	slices.SortFunc(p.tiers, func(a, b floorTier) int {
		if a.qty != b.qty {
			return int(a.qty - b.qty)
		}
		return int(a.price - b.price)
	})
	class, _ := p.values[floorTaxClass].(int64)
	for i, t := range p.tiers {
		if i > 0 && p.tiers[i-1].qty == t.qty {
			continue
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendFloat(append(out, `{"qty":"`...), float64(t.qty)/1e4, 'f', 4, 64)
		out = appendCents(append(out, `","price_with_tax":`...), t.price, f.percent[class])
		out = append(appendCents(append(out, `,"price_without_tax":`...), t.price, 0), '}')
	}
	return out
}

// hundred answers with a page of a hundred products.
func (f *productFloor) hundred(ctx context.Context, page *floorPage) error {
	if err := page.read(ctx, f.admin, len(adminNames)); err != nil {
		return err
	}
	own, err := f.ownValues(ctx, page)
	if err != nil {
		return err
	}
	out := append(page.out, '{')
	for i := range page.products {
		p := &page.products[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strconv.AppendInt(append(out, '"'), p.values[0].(int64), 10), `":{`...)
		for at, name := range adminNames {
			if at > 0 {
				out = append(out, ',')
			}
			out = append(append(append(out, '"'), name...), `":`...)
			out = appendFloorValue(out, p.values[at], name == "weight" || name == "price" || name == "special_price")
		}
		for at, name := range f.ownNames {
			out = append(append(append(out, `,"`...), name...), `":`...)
			out = appendFloorText(out, own[i*len(f.ownNames)+at])
		}
		out = append(out, '}')
	}
	page.out = append(out, '}')
	return nil
}

// ownValues returns the values of own attributes of all products of a page, if there are such attributes.
func (f *productFloor) ownValues(ctx context.Context, page *floorPage) (own []string, err error) {
	if len(f.ownNames) == 0 {
		return nil, nil
	}
	own = make([]string, 0, len(page.ids)*len(f.ownNames))
	values := make([]any, 2)
	err = each(ctx, f.own, values, func() error {
		own = append(own, values[1].(string))
		return nil
	}, page.ids[0], page.ids[len(page.ids)-1])
	return own, err
}

// units parses a decimal as an integer in ten-thousandths.
func units(stored any) int64 {
	switch v := stored.(type) {
	case int64:
		return v * 1e4
	case float64:
		return int64(math.Round(v * 1e4))
	case string:
		whole, fraction, _ := strings.Cut(v, ".")
		n, _ := strconv.ParseInt(whole+(fraction + "0000")[:4], 10, 64)
		return n
	default:
		return 0
	}
}

// dateText returns a stored time in the format of the contract, "" for none.
func dateText(stored any) string {
	switch v := stored.(type) {
	case string:
		return v
	case time.Time:
		return v.Format(time.DateTime)
	default:
		return ""
	}
}

// whole parses an integer of a store view, where all values are stored as texts.
func whole(stored any) any {
	text, _ := stored.(string)
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// appendCents appends an amount with tax, in the shortest form.
func appendCents(out []byte, amount, percent int64) []byte {
	cents := (amount*(100*1e4+percent) + 5e7) / 1e8
	out = strconv.AppendInt(out, cents/100, 10)
	switch rest := cents % 100; {
	case rest == 0:
	case rest%10 == 0:
		out = append(out, '.', byte('0'+rest/10))
	default:
		out = append(out, '.', byte('0'+rest/10), byte('0'+rest%10))
	}
	return out
}

// buyNow returns the link that puts a product into a cart. Its key is random.
func buyNow(r *http.Request, id string) string {
	base := "http://" + r.Host
	back := base64.URLEncoding.EncodeToString([]byte(base + r.URL.RequestURI()))
	return base + "/index.php/checkout/cart/add/uenc/" + strings.ReplaceAll(back, "=", ",") + "/product/" + id + "/form_key/" + rand.Text()[:16] + "/"
}
