package tracing

import (
	"strings"
	"testing"
)

func TestParseStatement(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, operation, table string }{
		{"SELECT entity_id, sku FROM product WHERE sku = ?", "SELECT", "product"},
		{"SELECT COUNT(*) FROM (SELECT 1 FROM `product_listing` LIMIT ?) AS t", "SELECT", "product_listing"},
		{"insert into \"sales_order\" (a) VALUES (?)", "INSERT", "sales_order"},
		{"INSERT INTO nonce(nonce) VALUES ($1)", "INSERT", "nonce"},
		{"UPDATE customer SET email = ? WHERE entity_id = ?", "UPDATE", "customer"},
		{"SELECT 1 FROM product FOR UPDATE", "SELECT", "product"},
		{"DELETE\n\tFROM media_file", "DELETE", "media_file"},
		{"WITH a AS (SELECT 1 FROM admin) SELECT * FROM a", "WITH", "admin"},
		{"SELECT name, (SELECT file FROM image WHERE id = (SELECT 1 FROM pointer)) FROM product", "SELECT", "product"},
		{"(SELECT 1 FROM price) UNION ALL (SELECT 2 FROM value)", "SELECT", "price"},
		{"SELECT ) FROM product", "SELECT", "product"},
		{"ANALYZE", "ANALYZE", ""},
		{"PRAGMA optimize", "PRAGMA", ""},
		{"SELECT 1 FROM 'a b'", "SELECT", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		got := parseStatement(tt.text)
		if got.operation != tt.operation || got.table != tt.table || got.text != tt.text {
			t.Errorf("%q: %q of %q", tt.text, got.operation, got.table)
		}
	}
}

// FuzzParseStatement checks that any text is parsed, and that a table is a name.
func FuzzParseStatement(f *testing.F) {
	for _, seed := range []string{"SELECT a FROM b", "UPDATE \"b\" SET", "FROM", ",;()", "INSERT INTO `b`(c)", "SELECT 'FROM x'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := parseStatement(text)
		if s.table != "" && !isName(s.table) {
			t.Errorf("%q: table %q", text, s.table)
		}
		if strings.ContainsAny(s.operation, " \t\r\n") {
			t.Errorf("%q: operation %q", text, s.operation)
		}
	})
}
