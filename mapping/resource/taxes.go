package resource

// A ClassRate is a rate, in percent, on the products of one tax class.
type ClassRate struct {
	Class   int64
	Percent float64
}

// ClassRates are rates on products by tax class.
type ClassRates []ClassRate

// On returns the rate on products of a tax class, 0 if there is none.
func (r ClassRates) On(class int64) float64 {
	for i := range r {
		if r[i].Class == class {
			return r[i].Percent
		}
	}
	return 0
}

// Taxes are the taxes in the prices that one buyer sees (configurations 3).
type Taxes struct {
	// Buyer are the rates that the buyer pays, and Included those in stored prices.
	Buyer, Included ClassRates
	PricesInclude   bool // stored prices include tax
	Rounding        Rounding
}

// KeepsPrice reports whether products of a tax class show their prices as they are stored: there is
// no class, and prices include tax (configurations 3.3).
func (t *Taxes) KeepsPrice(class int64) bool { return t.PricesInclude && class == 0 }

// WithoutTax returns a stored price of products of a tax class without tax, in cents.
func (t *Taxes) WithoutTax(price Money, class int64) uint64 {
	if t.PricesInclude {
		price = price.without(t.Included.On(class))
	}
	return t.Rounding.Cents(price)
}

// WithTax returns a stored price of products of a tax class with the buyer's tax, in cents. Where
// the price includes another rate than the buyer's, the buyer's tax is on the price without tax, after
// it was rounded to cents.
func (t *Taxes) WithTax(price Money, class int64) uint64 {
	buyer := t.Buyer.On(class)
	if !t.PricesInclude {
		return t.Rounding.Cents(price.with(buyer))
	}
	if included := t.Included.On(class); buyer == included {
		return t.Rounding.Cents(price)
	}
	without := t.WithoutTax(price, class)
	if buyer == 0 {
		return without
	}
	return t.Rounding.Cents((Money(without) / 100).with(buyer))
}

// with returns m with a tax of some percent. The conversions keep a processor from computing in more
// than double precision.
func (m Money) with(percent float64) Money {
	return m + Money(float64(m)*(percent/100))
}

// without returns m without the tax of some percent that it includes.
func (m Money) without(percent float64) Money {
	return m - Money(float64(m)*(1-1/(1+percent/100)))
}
