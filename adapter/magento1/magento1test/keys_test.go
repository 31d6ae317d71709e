package magento1test

import (
	"strings"
	"testing"
)

// TestKeys checks that the rows of the shops agree with their foreign keys: a server that adds these
// again checks every row. Those of the shop Broken do not agree.
func TestKeys(t *testing.T) {
	t.Parallel()
	for shop, agrees := range map[Shop]bool{Broken: false, Demo: true, Rich: true} {
		t.Run(string(shop), func(t *testing.T) {
			t.Parallel()
			_, db := NewShop(t, shop, "")
			_, err := db.ExecContext(t.Context(), strings.ReplaceAll(read(t, "keys.sql"), "{p}", ""))
			if agrees && err != nil || !agrees && (err == nil || !strings.Contains(err.Error(), "foreign key constraint fails")) {
				t.Errorf("the server says: %v", err)
			}
		})
	}
}
