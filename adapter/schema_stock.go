package adapter

// stockItemSchema returns the schema of the stock items of products. Quantities are in the
// product's unit of sale.
func stockItemSchema() *Schema {
	return NewSchema(StockItems, "item_id", []Attribute{
		{Name: "item_id", Kind: KindInteger, ReadOnly: true, Doc: "id of the stock item"},
		{Name: "product_id", Kind: KindInteger, Refers: Products, Required: true, ReadOnly: true, Doc: "id of its product"},
		{Name: "stock_id", Kind: KindInteger, Required: true, ReadOnly: true, Doc: "id of the stock, always 1"},
		{Name: "qty", Kind: KindDecimal, Required: true, Doc: "quantity on hand, may be negative with backorders"},
		{Name: "min_qty", Kind: KindDecimal, Required: true, Doc: "quantity at which the item is out of stock"},
		{Name: "use_config_min_qty", Kind: KindInteger, Required: true, Doc: "1: the store's min_qty replaces this one"},
		{Name: "is_qty_decimal", Kind: KindInteger, Required: true, Doc: "1: sold in fractions"},
		{Name: "backorders", Kind: KindInteger, Required: true, Doc: "0 none, 1 below zero, 2 below zero and notify the customer"},
		{Name: "use_config_backorders", Kind: KindInteger, Required: true, Doc: "1: the store's backorders replaces this one"},
		{Name: "min_sale_qty", Kind: KindDecimal, Required: true, Doc: "least quantity in one cart"},
		{Name: "use_config_min_sale_qty", Kind: KindInteger, Required: true, Doc: "1: the store's min_sale_qty replaces this one"},
		{Name: "max_sale_qty", Kind: KindDecimal, Required: true, Doc: "greatest quantity in one cart, 0 for no limit"},
		{Name: "use_config_max_sale_qty", Kind: KindInteger, Required: true, Doc: "1: the store's max_sale_qty replaces this one"},
		{Name: "is_in_stock", Kind: KindInteger, Required: true, Doc: "0 out of stock, 1 in stock"},
		{Name: "low_stock_date", Kind: KindTime, Doc: "when the quantity fell below the notify quantity"},
		{Name: "notify_stock_qty", Kind: KindDecimal, Doc: "quantity below which the stock counts as low"},
		{Name: "use_config_notify_stock_qty", Kind: KindInteger, Required: true, Doc: "1: the store's notify_stock_qty replaces this one"},
		{Name: "manage_stock", Kind: KindInteger, Required: true, Doc: "1: stock is managed for the product"},
		{Name: "use_config_manage_stock", Kind: KindInteger, Required: true, Doc: "1: the store's manage_stock replaces this one"},
		{Name: "stock_status_changed_auto", Kind: KindInteger, Required: true, Doc: "1: out of stock because of the quantity, so that a refund may set it back in stock"},
		{Name: "use_config_qty_increments", Kind: KindInteger, Required: true, Doc: "1: the store's qty_increments replaces this one"},
		{Name: "qty_increments", Kind: KindDecimal, Required: true, Doc: "sold in multiples of this quantity"},
		{Name: "use_config_enable_qty_inc", Kind: KindInteger, Required: true, Doc: "1: the store's enable_qty_increments replaces this one"},
		{Name: "enable_qty_increments", Kind: KindInteger, Required: true, Doc: "1: qty_increments applies"},
		{Name: "is_decimal_divided", Kind: KindInteger, Required: true, Doc: "1: fractions may be shipped in several boxes"},
		{Name: "product_created_at", Kind: KindTime, ReadOnly: true, OnDemand: true, Doc: "when the product was created"},
		{Name: "product_updated_at", Kind: KindTime, ReadOnly: true, OnDemand: true, Doc: "when the product was last changed"},
	}).PartOf(Products, "product_id")
}
