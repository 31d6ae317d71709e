package capacity

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
)

// A Kind is a kind of request, with what the cache did for it if it is a Guest's.
type Kind string

// The kinds of requests that are measured. The signed ones are those of an administrator.
const (
	ProductMemoryHit Kind = "product_memory_hit" // GET /products/1 as a Guest
	ProductRedisHit  Kind = "product_redis_hit"
	ProductMiss      Kind = "product_miss"
	ListMemoryHit    Kind = "list_memory_hit" // GET /products, ten records, as a Guest
	ListRedisHit     Kind = "list_redis_hit"
	ListMiss         Kind = "list_miss"
	AdminList        Kind = "admin_list"    // GET /products, signed
	OrderList        Kind = "order_list"    // GET /orders, signed
	StockRead        Kind = "stock_read"    // GET /stockitems/1, signed
	StockWrite       Kind = "stock_write"   // PUT /stockitems/1, signed
	StockBatch       Kind = "stock_batch"   // PUT /stockitems with BatchItems items, signed
	ProductWrite     Kind = "product_write" // PUT /products/1, signed
)

// BatchItems is the number of items of a StockBatch.
const BatchItems = 10

// Kinds returns all kinds, in the order of tables.
func Kinds() []Kind {
	return []Kind{
		ProductMemoryHit, ProductRedisHit, ProductMiss, ListMemoryHit, ListRedisHit, ListMiss,
		AdminList, OrderList, StockRead, StockWrite, StockBatch, ProductWrite,
	}
}

// A Cost is what one request uses on average.
type Cost struct {
	Portico    float64 `json:"portico_us"`           // processor time of Portico, in microseconds
	Database   float64 `json:"database_us"`          // of the database server
	Redis      float64 `json:"redis_us"`             // of Redis, which was mostly idle: each round trip woke it up
	Statements float64 `json:"statements,omitempty"` // with BEGIN and COMMIT
	Commands   float64 `json:"redis_commands"`       // that Redis executed
	RoundTrips float64 `json:"redis_round_trips"`
	ReplyBytes float64 `json:"reply_bytes"`
	// Spread is the shape of the time that requests take, one after the other: its deciles' means
	// as multiples of the mean. The slowest tenth is left out, as other programs delay requests.
	Spread []float64 `json:"spread"`
}

// RedisCosts is what round trips and messages cost a busy Redis, or a replica that receives from it, in
// microseconds of processor time.
type RedisCosts struct {
	Lookup               float64 `json:"lookup_us"`                 // of a reply with two generations
	Prepare              float64 `json:"prepare_us"`                // before a fill
	Store                float64 `json:"store_us"`                  // of a reply
	Change               float64 `json:"change_us"`                 // of two tags, before a commit
	Done                 float64 `json:"done_us"`                   // the same after it, without the message
	Nonce                float64 `json:"nonce_us"`                  // noting one
	SmallGet             float64 `json:"small_get_us"`              // a GET of a generation alone
	MoreGet              float64 `json:"more_get_us"`               // another one in the same pipeline
	Publish              float64 `json:"publish_us"`                // a message, without its subscribers
	PublishPerSubscriber float64 `json:"publish_per_subscriber_us"` // for each subscriber more
	Receive              float64 `json:"receive_us"`                // in a replica, for each message
}

// A Machine says where costs were measured.
type Machine struct {
	Processor string  `json:"processor"`
	Cores     int     `json:"cores"`
	Go        string  `json:"go"`
	SHA256    float64 `json:"sha256_mb_per_second"` // of one core, to compare machines with
}

// Costs are the measured costs, by engine and kind.
type Costs struct {
	Machine Machine                  `json:"machine"`
	Redis   RedisCosts               `json:"redis"`
	Engines map[string]map[Kind]Cost `json:"engines"`
}

//go:embed costs.json
var measured []byte

// Measured returns the costs that BenchmarkCosts has measured.
func Measured() (*Costs, error) {
	var c Costs
	if err := json.Unmarshal(measured, &c); err != nil {
		return nil, fmt.Errorf("costs.json: %w", err)
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		for _, kind := range Kinds() {
			if c.Engines[engine][kind].Portico <= 0 {
				return nil, fmt.Errorf("costs.json has no cost of %s on %s: measure again", kind, engine)
			}
		}
	}
	if c.Redis.Lookup <= 0 || c.Redis.Receive <= 0 {
		return nil, errors.New("costs.json lacks what Redis costs: measure again")
	}
	return &c, nil
}
