package adapter

// A Dataset is what fills an empty store: records of every resource, and the
// credentials to reach them. It is not changed once made.
type Dataset struct {
	// Records holds the records of each resource. A part names its owner by id
	// (product_id, order_id, …). Attributes the store keeps by itself may be
	// absent: a key is then the next one, a time the moment of loading.
	Records map[Resource][]Record
	// Passwords holds the customers' passwords in plain text, by customer.
	Passwords map[Key]string
	// Consumer is the client program the tokens belong to; its Key is "" when
	// there is none.
	Consumer Consumer
	Tokens   []Token
	// ConsentConsumer is a client program without tokens, which users can let act for
	// them; its Key is "" when there is none.
	ConsentConsumer Consumer
	// Verifier is the OAuth verifier the tokens were handed out for.
	Verifier string
	// Stock holds the shop's settings under which the stock items are saved.
	Stock StockDefaults
	// Public: the passwords and secrets are known to everybody, so that nothing
	// is gained by protecting them well.
	Public bool
}

// StockDefaults are the shop's stock settings, which stand in for a stock
// item's own while its use_config_ flags are 1 (Stock items, 2.3).
type StockDefaults struct {
	MinQty         string // decimal
	NotifyStockQty string // decimal
	Backorders     int64
	ManageStock    int64
}

// DefaultStock returns the settings of a shop that has changed none.
func DefaultStock() StockDefaults {
	return StockDefaults{MinQty: "0.0000", NotifyStockQty: "1.0000", Backorders: 0, ManageStock: 1}
}

// SettleStock returns item, a complete stock item, with what every save derives
// from its values (Stock items, 2.3): is_in_stock, stock_status_changed_auto and
// low_stock_date, which becomes now, a UTC time, when the quantity is low.
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
