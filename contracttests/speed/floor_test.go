//go:build linux

package speed

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"
)

// A floor configures a process of floorMain.
type floor struct {
	// Header and Body are a reply that the floor repeats. Without a body it serves a database.
	// A floor has only the headers that net/http adds, and none that only Portico's clients
	// need.
	Header http.Header
	Body   []byte
	// RedisURL and Keys, unless empty, let the floor read the body from Redis, behind a header in a
	// value, with all Keys in one pipeline.
	RedisURL string
	Keys     []string
	Driver   string // of database/sql
	DSN      string
	Media    string // folder of images
}

// floorMain is the main function of a floor. It reads its settings and prints its address.
func floorMain() {
	var f floor
	err := json.NewDecoder(os.Stdin).Decode(&f)
	if err == nil {
		err = f.serve()
	}
	fmt.Fprintln(os.Stderr, "floor:", err)
	os.Exit(1)
}

// serve serves until it fails.
func (f *floor) serve() error {
	handler, err := f.handler()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return (&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}).Serve(listener)
}

// handler returns the handler of the floor.
func (f *floor) handler() (http.Handler, error) {
	if f.Body == nil {
		return newDatabaseFloor(f.Driver, f.DSN, f.Media)
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	repeat := func(c *gin.Context) { f.write(c, f.Body) }
	if f.RedisURL != "" {
		options, err := redis.ParseURL(f.RedisURL)
		if err != nil {
			return nil, err
		}
		client := redis.NewClient(options)
		repeat = func(c *gin.Context) { f.fromRedis(c, client) }
	}
	engine.GET(guestList, repeat)
	return engine, nil
}

// write sends the headers of the floor with a body.
func (f *floor) write(c *gin.Context, body []byte) {
	header := c.Writer.Header()
	for name, values := range f.Header {
		header[name] = []string{values[0]}
	}
	c.Writer.WriteHeader(http.StatusOK)
	_, _ = c.Writer.Write(body)
}

// fromRedis sends the body that Redis holds.
func (f *floor) fromRedis(c *gin.Context, client *redis.Client) {
	values := make([]*redis.StringCmd, len(f.Keys))
	pipe := client.Pipeline()
	for i, key := range f.Keys {
		values[i] = pipe.Get(c.Request.Context(), key)
	}
	if _, err := pipe.Exec(c.Request.Context()); err != nil {
		_ = c.AbortWithError(http.StatusInternalServerError, err)
		return
	}
	for _, value := range values {
		if reply, _ := value.Bytes(); len(reply) > len(f.Body) {
			f.write(c, reply[len(reply)-len(f.Body):])
		}
	}
}

// A floorDatabase prepares statements.
type floorDatabase struct {
	driver string
	pool   *sql.DB
}

// newDatabaseFloor returns the handler of all floors on a database.
func newDatabaseFloor(driver, dsn, media string) (http.Handler, error) {
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(8)
	pool.SetMaxOpenConns(8)
	db := &floorDatabase{driver, pool}
	products, err := newProductFloor(db)
	if err != nil {
		return nil, err
	}
	stock, err := newStockFloor(db)
	if err != nil {
		return nil, err
	}
	orders, err := newOrderFloor(db)
	if err != nil {
		return nil, err
	}
	categories, err := newCategoryFloor(db)
	if err != nil {
		return nil, err
	}
	writes, err := newWriteFloor(driver, dsn, media)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /api/rest/products/", products)
	mux.Handle("GET /api/rest/products", products)
	mux.Handle("GET /api/rest/products/{id}/categories", categories)
	mux.HandleFunc("GET /api/rest/stockitems/{id}", stock.one)
	mux.HandleFunc("GET /api/rest/stockitems", stock.list)
	mux.HandleFunc("GET /api/rest/orders", orders.list)
	mux.HandleFunc("PUT /api/rest/stockitems", writes.updateStock)
	mux.HandleFunc("PUT /api/rest/stockitems/{id}", writes.updateStockItem)
	mux.HandleFunc("PUT /api/rest/products/{id}/store/{store}", writes.updateProduct)
	mux.HandleFunc("POST /api/rest/products", writes.createProduct)
	mux.HandleFunc("POST /api/rest/products/{id}/images", writes.createImage)
	return mux, nil
}

var sqliteParameter = regexp.MustCompile(`\?([0-9]+)`)

// A floorStmt is a prepared statement of a floor.
type floorStmt struct {
	*sql.Stmt
	order []int // of the arguments on MariaDB, whose parameters have no numbers; nil on others
}

// bind returns the arguments of a statement that is written for SQLite.
func (s *floorStmt) bind(arguments []any) []any {
	if s.order == nil {
		return arguments
	}
	bound := make([]any, len(s.order))
	for i, n := range s.order {
		bound[i] = arguments[n-1]
	}
	return bound
}

// in returns the statement within a transaction.
func (s *floorStmt) in(ctx context.Context, tx *sql.Tx) *floorStmt {
	return &floorStmt{tx.StmtContext(ctx, s.Stmt), s.order}
}

// query runs the statement.
func (s *floorStmt) query(ctx context.Context, arguments ...any) (*sql.Rows, error) {
	return s.QueryContext(ctx, s.bind(arguments)...)
}

// forDriver returns a statement that is written for SQLite with the parameters of a driver.
func forDriver(driver, text string) string {
	switch driver {
	case "pgx":
		return sqliteParameter.ReplaceAllString(text, "$$$1")
	case "mysql":
		return sqliteParameter.ReplaceAllString(text, "?")
	default:
		return text
	}
}

// prepare prepares a statement, which is written for SQLite.
func (db *floorDatabase) prepare(text string) (*floorStmt, error) {
	s := &floorStmt{}
	if db.driver == "mysql" {
		for _, found := range sqliteParameter.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(found[1])
			s.order = append(s.order, n)
		}
	}
	text = forDriver(db.driver, text)
	var err error
	if s.Stmt, err = db.pool.Prepare(text); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return s, nil
}

// withTexts replaces bytes, which the driver of MariaDB returns, by texts.
func withTexts(values []any) {
	for i, value := range values {
		values[i] = asText(value)
	}
}

// asText returns bytes as text, and other values unchanged.
func asText(value any) any {
	if text, ok := value.([]byte); ok {
		return string(text)
	}
	return value
}

// each calls take for each row of a statement, with the values of its columns in a slice that is used again.
func each(ctx context.Context, stmt *floorStmt, values []any, take func() error, arguments ...any) error {
	rows, err := stmt.query(ctx, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		withTexts(values)
		if err := take(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// writeJSON sends a body of JSON.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header()["Content-Type"] = []string{"application/json; charset=utf-8"}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// appendColumns appends values as the members of a JSON object.
func appendColumns(out []byte, names []string, values []any, isDecimal func(name string) bool) []byte {
	out = append(out, '{')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), `":`...)
		out = appendFloorValue(out, values[i], isDecimal(name))
	}
	return append(out, '}')
}

// appendFloorValue appends a stored value as JSON.
func appendFloorValue(out []byte, stored any, decimal bool) []byte {
	switch v := stored.(type) {
	case string:
		if v != "" {
			return appendFloorText(out, v)
		}
	case float64:
		return append(strconv.AppendFloat(append(out, '"'), v, 'f', 4, 64), '"')
	case int64:
		out = strconv.AppendInt(append(out, '"'), v, 10)
		if decimal {
			out = append(out, ".0000"...)
		}
		return append(out, '"')
	case time.Time:
		return append(v.AppendFormat(append(out, '"'), time.DateTime), '"')
	}
	return append(out, "null"...)
}

// appendFloorText appends a text of printable ASCII and line breaks as JSON.
func appendFloorText(out []byte, s string) []byte {
	out = append(out, '"')
	done := 0
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '/':
			out = append(append(out, s[done:i]...), '\\')
			done = i
		case '\n':
			out = append(append(out, s[done:i]...), '\\', 'n')
			done = i + 1
		}
	}
	return append(append(out, s[done:]...), '"')
}

// columnList returns names with a prefix, for a SELECT.
func columnList(prefix string, names []string) string {
	return prefix + strings.Join(names, ", "+prefix)
}
