package magento1test

import (
	"archive/zip"
	"bytes"
	"database/sql"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"
)

// configurationFiles holds rows and recordings of each configuration.
const configurationFiles = "testdata/configurations.zip"

// A Configuration is the shop Rich with other settings, and with the rows that go with them.
type Configuration struct {
	Name    string
	Base    string        // "rich", or "extended" for one that the rows of the configuration "extended" lead to
	Changes []tableChange // in the order of the file
	Cases   []byte        // the recorded replies, as a file of package contracttests
}

// A tableChange removes rows of a table, and sets others.
type tableChange struct {
	table    string
	Columns  []string
	Key      []string
	Set      [][]*string
	Remove   [][]*string
	NewTable string `json:"new_table"` // columns in the notation of the specification, if the table is to be created
}

// Configurations returns all recorded configurations in the order of their names, and the
// credentials of their callers as a data set has them.
func Configurations(tb testing.TB) (all []Configuration, credentials []byte) {
	tb.Helper()
	archive := openConfigurations(tb)
	names, err := fs.Glob(archive, "*.rows.json")
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range names {
		c := Configuration{Name: strings.TrimSuffix(name, ".rows.json")}
		c.Base, c.Changes = readChanges(tb, archive, name)
		if c.Name != extended {
			c.Cases = readFile(tb, archive, c.Name+".json")
			all = append(all, c)
		}
	}
	return all, readFile(tb, archive, "credentials.json")
}

// extended is the name of the rows that many configurations begin with.
const extended = "extended"

func openConfigurations(tb testing.TB) fs.FS {
	tb.Helper()
	packed, err := files.ReadFile(configurationFiles)
	if err != nil {
		tb.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		tb.Fatal(err)
	}
	return archive
}

func readFile(tb testing.TB, archive fs.FS, name string) []byte {
	tb.Helper()
	data, err := fs.ReadFile(archive, name)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// readChanges reads a file of rows. Its tables keep their order.
func readChanges(tb testing.TB, archive fs.FS, name string) (base string, changes []tableChange) {
	tb.Helper()
	var file struct {
		Base    string
		Changes json.RawMessage
	}
	if err := json.Unmarshal(readFile(tb, archive, name), &file); err != nil {
		tb.Fatal(name, err)
	}
	d := json.NewDecoder(bytes.NewReader(file.Changes))
	for token, err := d.Token(); ; token, err = d.Token() {
		if err != nil {
			tb.Fatal(name, err)
		}
		table, named := token.(string)
		if token == json.Delim('}') {
			return file.Base, changes
		}
		if !named { // the object's beginning
			continue
		}
		change := tableChange{table: table}
		if err := d.Decode(&change); err != nil {
			tb.Fatal(name, err)
		}
		changes = append(changes, change)
	}
}

// Configure turns the shop Rich in db into a configuration.
func Configure(tb testing.TB, db *sql.DB, prefix string, c Configuration) {
	tb.Helper()
	changes := c.Changes
	if c.Base == extended {
		archive := openConfigurations(tb)
		_, first := readChanges(tb, archive, extended+".rows.json")
		changes = slices.Concat(first, changes)
	}
	var all strings.Builder
	all.WriteString("SET foreign_key_checks = 0;\n")
	escape := newEscaper()
	for _, change := range changes {
		change.write(&all, escape, prefix)
	}
	all.WriteString("SET foreign_key_checks = 1")
	if _, err := db.ExecContext(tb.Context(), onDays(all.String())); err != nil {
		tb.Fatal(c.Name, err)
	}
}

// onDays replaces the placeholders of days.
func onDays(text string) string {
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	return strings.NewReplacer("{{today}}", day(0), "{{today-1}}", day(-1), "{{today+1}}", day(1)).Replace(text)
}

// write adds the statements of a change.
func (c *tableChange) write(all *strings.Builder, escape *strings.Replacer, prefix string) {
	name := "`" + prefix + c.table + "`"
	if c.NewTable != "" {
		all.WriteString("CREATE TABLE IF NOT EXISTS " + name + " (" + columnsOf(c.NewTable) + ");\n")
	}
	var places []int
	for _, key := range c.Key {
		places = append(places, slices.Index(c.Columns, key))
	}
	remove := func(key []*string) {
		all.WriteString("DELETE FROM " + name + " WHERE ")
		for i, column := range c.Key {
			if i > 0 {
				all.WriteString(" AND ")
			}
			all.WriteString("`" + column + "` <=> " + literals(escape, key[i:i+1]))
		}
		all.WriteString(";\n")
	}
	for _, key := range c.Remove {
		remove(key)
	}
	for _, row := range c.Set {
		var key []*string
		for _, at := range places {
			key = append(key, row[at])
		}
		remove(key)
		all.WriteString("INSERT INTO " + name + " (`" + strings.Join(c.Columns, "`, `") + "`) VALUES (" + literals(escape, row) + ");\n")
	}
}

// columnsOf returns the columns of CREATE TABLE for a table in the notation of the
// specification: "id int+ AI, name vc255? PK(id)", where + is unsigned and ? means that the column
// may be null.
func columnsOf(notation string) string {
	listed, key, _ := strings.Cut(notation, " PK(")
	var all []string
	for column := range strings.SplitSeq(strings.ReplaceAll(listed, "dec12,4", "dec12;4"), ", ") {
		name, kind, _ := strings.Cut(column, " ")
		kind, increments := strings.CutSuffix(kind, " AI")
		kind, nullable := strings.CutSuffix(kind, "?")
		kind, unsigned := strings.CutSuffix(kind, "+")
		text := "`" + name + "` " + columnType(kind)
		if unsigned {
			text += " UNSIGNED"
		}
		if !nullable {
			text += " NOT"
		}
		text += " NULL"
		if increments {
			text += " AUTO_INCREMENT"
		}
		all = append(all, text)
	}
	return strings.Join(append(all, "PRIMARY KEY ("+key), ", ")
}

// columnType returns the type of a column in the notation of the specification.
func columnType(kind string) string {
	if length, ok := strings.CutPrefix(kind, "vc"); ok {
		return "VARCHAR(" + length + ")"
	}
	return map[string]string{"int": "INT", "si": "SMALLINT", "text": "TEXT", "ts": "TIMESTAMP", "date": "DATE", "dec12;4": "DECIMAL(12,4)"}[kind]
}
