package adapter

// A FixedTax is an amount that a product costs on top of its price in one country, such as a recycling
// fee. An attribute of fixed product taxes holds a list of them, in JSON.
type FixedTax struct {
	Website int64  `json:"website_id"` // 0 for all
	Country string `json:"country"`    // two-letter code
	State   string `json:"state"`      // id of a region, or * for all
	Value   string `json:"value"`      // with four decimal places
}
