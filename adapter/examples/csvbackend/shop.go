package main

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// A shop keeps customers in a CSV file, one a line. It implements [replica.Backend].
//
// The file owns the attributes in columns, and decides whether a customer exists. All
// other data that the contract has of customers, such as their password and their website,
// is in Portico's own database, the local replica.
type shop struct {
	file    string
	schemas *adapter.Schemas
	mu      sync.Mutex // writes read the file and replace it
}

// The columns of the file. The attributes of the contract have the same names, here.
const (
	idColumn     = iota // the shop's own id of the customer, any text
	numberColumn        // the id that legacy clients know, empty for a new customer
	firstAttribute
)

func columns() []string { return []string{"id", "number", "email", "firstname", "lastname"} }

func attributes() []string { return columns()[firstAttribute:] }

func newShop(folder string, schemas *adapter.Schemas) *shop {
	return &shop{file: filepath.Join(folder, "customers.csv"), schemas: schemas}
}

// Name returns the name that metrics and the log use.
func (s *shop) Name() string { return "csv" }

// Resources declares the attributes that the shop owns: three attributes of customers.
func (s *shop) Resources() []replica.BackendResource {
	return []replica.BackendResource{{
		Resource: adapter.Customers, Root: adapter.Customers, Attributes: attributes(),
		Creates: true, Updates: true, Deletes: true,
	}}
}

// Ping reports whether the file can be read.
func (s *shop) Ping(context.Context) error {
	_, err := s.rows("ping")
	return err
}

// Close does nothing, as no file stays open.
func (s *shop) Close() error { return nil }

// Fetch returns the customers with these ids.
func (s *shop) Fetch(_ context.Context, _ adapter.Resource, ids []string) ([]replica.Document, error) {
	return s.documents("fetch customers", func(row []string) bool { return slices.Contains(ids, row[idColumn]) })
}

// Scan passes all customers to found. The file does not record when customers changed, so
// since is ignored.
func (s *shop) Scan(_ context.Context, _ adapter.Resource, _ time.Time, found func([]replica.Document) error) error {
	documents, err := s.documents("scan customers", func([]string) bool { return true })
	if err != nil || len(documents) == 0 {
		return err
	}
	return found(documents)
}

// Find returns the customer with this number.
func (s *shop) Find(_ context.Context, _ adapter.Resource, key adapter.Key, _ adapter.Record) (replica.Document, error) {
	const op = "find customer"
	documents, err := s.documents(op, func(row []string) bool { return row[numberColumn] == numberOf(key) })
	if err != nil {
		return replica.Document{}, err
	}
	if len(documents) == 0 {
		return replica.Document{}, &adapter.Error{Kind: adapter.NotFound, Op: op}
	}
	return documents[0], nil
}

// Create appends a customer.
func (s *shop) Create(_ context.Context, w *replica.Write) (id string, err error) {
	id = "c" + numberOf(w.Key)
	err = s.change("create customer", func(rows [][]string) ([][]string, error) {
		row := make([]string, len(columns()))
		row[idColumn], row[numberColumn] = id, numberOf(w.Key)
		setAttributes(row, w)
		return append(rows, row), nil
	})
	return id, err
}

// Update changes a customer.
func (s *shop) Update(_ context.Context, w *replica.Write) error {
	const op = "update customer"
	return s.change(op, func(rows [][]string) ([][]string, error) {
		at := slices.IndexFunc(rows, func(row []string) bool { return row[idColumn] == w.ID })
		if at < 0 {
			return nil, &adapter.Error{Kind: adapter.NotFound, Op: op}
		}
		setAttributes(rows[at], w)
		return rows, nil
	})
}

// Delete removes a customer.
func (s *shop) Delete(_ context.Context, w *replica.Write) error {
	const op = "delete customer"
	return s.change(op, func(rows [][]string) ([][]string, error) {
		rest := slices.DeleteFunc(slices.Clone(rows), func(row []string) bool { return row[idColumn] == w.ID })
		if len(rest) == len(rows) {
			return nil, &adapter.Error{Kind: adapter.NotFound, Op: op}
		}
		return rest, nil
	})
}

// setAttributes sets the columns that a write changes.
func setAttributes(row []string, w *replica.Write) {
	for i, name := range attributes() {
		if slices.Contains(w.Changed, name) {
			row[firstAttribute+i] = w.New.Get(name).Text()
		}
	}
}

func numberOf(key adapter.Key) string { return strconv.FormatInt(int64(key), 10) }

// documents returns the documents of the rows that wanted selects.
func (s *shop) documents(op string, wanted func(row []string) bool) ([]replica.Document, error) {
	rows, err := s.rows(op)
	if err != nil {
		return nil, err
	}
	var all []replica.Document
	for _, row := range rows {
		if wanted(row) {
			all = append(all, s.document(row))
		}
	}
	return all, nil
}

// document returns a row as a document. Its version is a hash of the row, as the file has
// no revisions.
func (s *shop) document(row []string) replica.Document {
	version := sha256.Sum256([]byte(strings.Join(row, "\x00")))
	return replica.Document{
		ID: row[idColumn], Version: hex.EncodeToString(version[:]),
		Read: func(context.Context) (replica.Item, map[adapter.Resource][]replica.Item, error) {
			item := replica.Item{ID: row[idColumn], Record: adapter.NewRecord(s.schemas.Of(adapter.Customers)), Initial: adapter.NewRecord(s.schemas.Of(adapter.Customers))}
			if number := row[numberColumn]; number != "" {
				key, err := strconv.ParseInt(number, 10, 64)
				if err != nil {
					return replica.Item{}, nil, &adapter.Error{Kind: adapter.Unavailable, Op: "read customer", Err: fmt.Errorf("number %q is no number", number)}
				}
				item.Key = adapter.Key(key)
			}
			for i, name := range attributes() {
				item.Record.Set(name, adapter.TextValue(row[firstAttribute+i]))
			}
			// The initial values that do not come from the file.
			for name, value := range map[string]int64{"website_id": 1, "group_id": 1, "store_id": 0, "disable_auto_group_change": 0} {
				item.Initial.Set(name, adapter.IntegerValue(value))
			}
			return item, nil, nil
		},
	}
}

// rows reads the file, without its first line.
func (s *shop) rows(op string) ([][]string, error) {
	file, err := os.Open(s.file)
	if err != nil {
		return nil, &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.FieldsPerRecord = len(columns())
	rows, err := reader.ReadAll()
	if err == nil && (len(rows) == 0 || !slices.Equal(rows[0], columns())) {
		err = fmt.Errorf("the first line must be %s", strings.Join(columns(), ","))
	}
	if err != nil {
		return nil, &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	}
	return rows[1:], nil
}

// change replaces the rows of the file by the result of edit. An error of edit is returned
// unchanged, and nothing is written.
func (s *shop) change(op string, edit func(rows [][]string) ([][]string, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, err := s.rows(op)
	if err != nil {
		return err
	}
	if rows, err = edit(rows); err != nil {
		return err
	}
	if err := s.replace(append([][]string{columns()}, rows...)); err != nil {
		// Whether the file has been replaced is unknown, so the kind is Unavailable.
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	}
	return nil
}

// replace writes a new file and renames it, so that readers see the old or the new one.
func (s *shop) replace(lines [][]string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(s.file), "customers-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := errors.Join(csv.NewWriter(file).WriteAll(lines), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), s.file)
}
