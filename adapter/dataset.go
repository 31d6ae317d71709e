package adapter

import (
	"context"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// A Dataset is the initial content of a store: records of every resource, and the
// credentials to reach them. It must not be changed once made.
type Dataset struct {
	// Records holds the records of each resource. A part holds the id of its owner
	// (product_id, order_id, …). Attributes that the store sets itself may be absent: it
	// then assigns the next key, and the time of loading.
	Records map[Resource][]Record
	// Levels holds the scoped values of categories, products and images, and the values of
	// images at the default scope. The values of a product include the images to which its
	// types point.
	Levels []Level
	// Verbatim stores the records unchanged. Otherwise stock items get the values that every
	// save derives.
	Verbatim bool
	// Content returns the bytes of an image by its file, as in [ImportOptions]; nil if no
	// image has bytes.
	Content func(ctx context.Context, file string) ([]byte, error)
	// Passwords holds the customers' passwords in plain text, by customer.
	Passwords map[Key]string
	// Consumer is the client program that owns the tokens; its Key is "" if there is none.
	Consumer Consumer
	Tokens   []Token
	// Grants are more client programs, each with its tokens, which hold their verifiers.
	Grants []Grant
	// Roles are the REST roles; without any, everybody may make all calls of their kind.
	Roles AccessRoles
	// ConsentConsumer is a client program without tokens, to which users can grant access;
	// its Key is "" if there is none.
	ConsentConsumer Consumer
	// Verifier is the OAuth verifier with which the tokens were issued.
	Verifier string
	// Stock holds the store's settings with which the stock items are saved.
	Stock StockDefaults
	// Public: the passwords and secrets are publicly known, so they are hashed at the
	// lowest cost.
	Public bool
}

// StockDefaults are the store's stock settings, which replace a stock item's own values
// while its use_config_ flags are 1 (stock_orders 2.3.4).
type StockDefaults struct {
	MinQty         string // decimal
	NotifyStockQty string // decimal
	Backorders     int64
	ManageStock    int64
}

// DefaultStock returns the settings of a store that has changed none.
func DefaultStock() StockDefaults {
	return StockDefaults{MinQty: "0.0000", NotifyStockQty: "1.0000", Backorders: 0, ManageStock: 1}
}

// DeriveStockStatus returns a copy of item, a complete stock item, with the values that
// every save derives (stock_orders 2.3.4): is_in_stock, stock_status_changed_auto and
// low_stock_date. The latter is set to now, a UTC time, when the quantity is low.
func DeriveStockStatus(item Record, d StockDefaults, now string) Record {
	settled := item.Clone()
	effective := func(name, shops string) string {
		if item.Get("use_config_"+name).Int() == 1 {
			return shops
		}
		return item.Get(name).Text()
	}
	backorders := item.Get("backorders").Int()
	if item.Get("use_config_backorders").Int() == 1 {
		backorders = d.Backorders
	}
	qty := rational(item.Get("qty").Text())
	settled.Set("stock_status_changed_auto", IntegerValue(0))
	if backorders == 0 && qty.Cmp(rational(effective("min_qty", d.MinQty))) <= 0 {
		settled.Set("is_in_stock", IntegerValue(0))
		settled.Set("stock_status_changed_auto", IntegerValue(1))
	}
	settled.Set("low_stock_date", NullValue())
	if qty.Cmp(rational(effective("notify_stock_qty", d.NotifyStockQty))) < 0 {
		settled.Set("low_stock_date", TextValue(now))
	}
	return settled
}

// HashPasswords returns the bcrypt hashes of the customers' passwords. Passwords of a public
// data set are hashed at the lowest cost, since they are no secret, and their hashes are
// cached by password in known, unless it is nil. Kinds: Invalid.
func (d *Dataset) HashPasswords(ctx context.Context, cost int, known *sync.Map) (map[Key]string, error) {
	if d.Public {
		cost = bcrypt.MinCost
	}
	if known == nil {
		known = new(sync.Map)
	}
	hashes := make(map[Key]string, len(d.Passwords))
	for customer, password := range d.Passwords {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if hash, ok := known.Load(password); ok && d.Public {
			hashes[customer] = hash.(string)
			continue
		}
		hash, err := HashPassword(password, cost)
		if err != nil {
			return nil, &Error{Kind: Invalid, Op: "load data", Field: "password", Err: err}
		}
		hashes[customer] = hash
		if d.Public {
			known.Store(password, hash)
		}
	}
	return hashes, nil
}
