package input_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// storedTimes are times around the dates of generatedDate, and the bounds of years of two digits.
func storedTimes() []string {
	return []string{
		"1970-01-02 00:00:00", "1999-12-31 23:59:59", "2000-01-01 00:00:00", "2001-02-28 23:59:59", "2001-03-01 00:00:00", "2003-12-12 12:12:12",
		"2011-12-31 23:59:59", "2012-01-01 00:00:00", "2012-01-31 23:59:59", "2012-02-28 23:59:59", "2012-02-29 00:00:00", "2012-02-29 23:59:59",
		"2012-03-01 00:00:00", "2012-03-01 10:00:00", "2012-03-02 10:00:00", "2012-03-02 23:59:59", "2012-03-03 00:00:00", "2012-03-03 00:00:01",
		"2012-03-03 01:00:00", "2012-03-03 10:00:00", "2012-03-03 10:00:01", "2012-03-03 10:01:00", "2012-03-03 10:11:12", "2012-03-03 10:11:13",
		"2012-03-03 23:59:59", "2012-03-04 00:00:00", "2012-03-04 10:00:00", "2012-03-31 00:00:00", "2012-04-01 00:00:00", "2012-12-31 23:59:59",
		"2013-01-01 00:00:00", "2020-03-03 10:11:12", "2020-12-03 03:10:00", "2037-12-31 23:59:59",
	}
}

// The texts that clients have been seen to send, and edges of the form.
func knownDates() []string {
	return []string{
		"2012-03-03", "2012-03-03 10:00:00", "2012-03-03T00:00:00Z", "2012-03-03T00:00:00.000Z", "2012-03-03T00:00:00+02:00", "2012-03-03 00:00:00 UTC",
		"2012-03-03x", "2012-03-03T", "2012-03-03 0 : 0 : 0", "2012-3-3", "2012-03-03 10", "2012-03-03T10:00", "2012/03/03", "2012.03.03", "2012:03:03",
		"2012_3_3", "2012\\3\\3", "2012'3'3", "2012--03--03", "2012 03 03", "12-3-3", "69-3-3", "70-1-2", "1-3-3", "112-3-3", "0012-3-3", "120303", "20120303", "120303101112",
		"20120303101112", "20120303T101112", "20120303T101112.5", "20120303101112.5x", "20120303Z", "20120303 101112", "20120303.5", "2012030310", "201203031011",
		"2012-03-03 10:11:12.5", "2012-03-03 10:11:12.", "2012-03-03 10:11:12.0000001", "2012-03-03 10:11:12.000001", "2012-03-03 10:11:12,5", "2012-3-3.10.11.12",
		"2012-02-29", "2012-02-30", "2012-02-31", "2011-02-29", "2012-03-32", "2012-13-01", "2012-00-00", "2012-03-00", "2012-00-03", "0000-03-03", "0000-00-00",
		"00-00-00", "000000", "2012-03-03 24:00:00", "2012-03-03 23:59:60", "2012-03-03 10:60", "4294969308-3-3", "10000-01-01", "9999-12-31 23:59:59.5", "9999-12-31",
		" 2012-03-03", "\t\n2012-03-03", "+2012-03-03", "+ 2012-03-03", "-2012-03-03", "2012-03-03  10:11", "2012-03-03T 10:11", "2012-03-03 T10:11", "2012-03-03t10:11",
		"2012-3", "2012-3-", "2012-3-3-", "2012", "201203", "2012030", "1", "0", "", " ", "abc", "T20120303", "3 March 2012", "03/03/2012", "today", "now", "null",
	}
}

// generatedDate returns a text that has something of a date.
func generatedDate(r *rand.Rand) string {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	mostly := func(usual string, of ...string) string {
		if r.IntN(4) > 0 {
			return usual
		}
		return one(of...)
	}
	punctuation := func() string { return string("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"[r.IntN(32)]) }
	year := func() string {
		return one("2012", "2012", "12", "2020", "69", "70", "99", "00", "1", "112", "0012", "20120", "")
	}
	number := func() string {
		return one("3", "03", "1", "02", "10", "12", "29", "30", "31", "32", "0", "00", "003", "")
	}
	clock := func() string { return one("10", "00", "0", "1", "11", "12", "23", "24", "59", "60", "01", "") }
	dash, colon := mostly("-", punctuation(), "", " ", "--", "·", "×", "ק"), mostly(":", punctuation(), "", " : ", "x")
	if r.IntN(3) == 0 { // without separators
		text := mostly("20120303", "120303", "2012030", "201203", "99999999", "00000000", "20120230", "2012", fmt.Sprint(r.Uint32()))
		return text + one("", "", "T", " ", ".") + one("", "101112", "10", "1011", "1", "101112") + one("", ".5", ".000", ".", "Z", "x1", " UTC", "T")
	}
	text := mostly("", " ", "+", "-", "\n", "+ ", "x") + year() + dash + number() + mostly(dash, punctuation()) + number()
	if r.IntN(2) == 0 {
		text += mostly(one(" ", "T"), punctuation(), "  ", "t", "\t", "", " T") + clock() + colon + clock() + colon + clock()
	}
	return text + mostly("", "Z", ".5", ".000", ".000001", ".0000009", "+02:00", " UTC", "x", ",5", ".", "T", " ", "é", "É", "\u00a0", "—", "ł", "9")
}

// An operatorSQL is an operator of the database with the names that filters have for it.
type operatorSQL struct {
	format string
	names  []string
}

func operatorsSQL() []operatorSQL {
	return []operatorSQL{
		{"= %s", []string{"eq", "seq", "unknown"}}, {"!= %s", []string{"neq", "sneq"}}, {"> %s", []string{"gt"}}, {"< %s", []string{"lt"}},
		{">= %s", []string{"gteq", "from"}}, {"<= %s", []string{"lteq", "to"}}, {"IN ('2012-03-01 10:00:00', %s)", []string{"in][]=2012-03-01T10:00:00Z&filter[1][in][]"}},
		{"NOT IN (%s)", []string{"nin"}}, {"BETWEEN %s AND '2012-03-31'", []string{"to]=20120331&filter[1][from"}},
	}
}

// TestDatesAreTheDatabases: a filter finds the records that the database of the original
// finds when it compares its dates with the text, for every operator.
func TestDatesAreTheDatabases(t *testing.T) {
	t.Parallel()
	db := sqltest.Raw(t, sqltest.MariaDB(t))
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE moments (id INT PRIMARY KEY, moment TIMESTAMP NULL, moment_without_zone DATETIME NULL)")
	schema := stockSchema()
	var records []adapter.Record
	for i, text := range append(storedTimes(), "") {
		record, stored := adapter.NewRecord(schema), "NULL"
		record.Set("item_id", adapter.IntegerValue(int64(i+1)))
		if text != "" {
			record.Set("low_stock_date", adapter.TextValue(text))
			stored = "'" + text + "'"
		} else {
			record.Set("low_stock_date", adapter.NullValue())
		}
		records = append(records, record)
		exec(fmt.Sprintf("INSERT INTO moments VALUES (%d, %s, %s)", i+1, stored, stored))
	}

	count := 600
	if testenv.Nightly() {
		count = 15_000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	texts := knownDates()
	for range count {
		texts = append(texts, generatedDate(random))
	}
	operators := operatorsSQL()
	for batch := range slices.Chunk(texts, 100) {
		var b strings.Builder
		for i, text := range batch {
			literal := "_utf8mb4'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(text) + "'"
			column := []string{"moment", "moment_without_zone"}[random.IntN(2)]
			for at, operator := range operators {
				if b.Len() > 0 {
					b.WriteString(" UNION ALL ")
				}
				fmt.Fprintf(&b, "SELECT %d, %d, COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM moments WHERE %s %s", i, at, column, fmt.Sprintf(operator.format, literal))
			}
		}
		for found := range rowsOf(t, db, b.String()) {
			text := batch[found.text]
			for _, operator := range operators[found.operator].names {
				if strings.HasPrefix(operator, "s") && text == "" {
					continue // null and notnull
				}
				if got := foundBy(t, schema, records, operator, text); got != found.ids {
					t.Errorf("%s %q finds %s, the database %s", operator, text, got, found.ids)
				}
			}
		}
		if t.Failed() {
			return // others fail the same way
		}
	}
}

// A foundRow holds the ids of the records that the database finds for a text and an operator.
type foundRow struct {
	text, operator int // their indexes
	ids            string
}

// rowsOf returns the rows of a query.
func rowsOf(t *testing.T, db *sql.DB, query string) func(yield func(foundRow) bool) {
	return func(yield func(foundRow) bool) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var row foundRow
			if err := rows.Scan(&row.text, &row.operator, &row.ids); err != nil {
				t.Fatal(err)
			}
			if !yield(row) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// foundBy returns the ids of the records that a filter finds, separated by commas.
func foundBy(t *testing.T, schema *adapter.Schema, records []adapter.Record, operator, text string) string {
	t.Helper()
	list, err := parse(contract.Magento(), "limit=0&filter[1][attribute]=low_stock_date&filter[1]["+operator+"]="+url.QueryEscape(text))
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := adapter.Apply(t.Context(), schema, records, &list.Query)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(found))
	for i, record := range found {
		ids[i] = record.Get("item_id").Text()
	}
	return strings.Join(ids, ",")
}
