package rules_test

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// TestCheckRequired checks that an error names all values that a record lacks, except times
// that are set later.
func TestCheckRequired(t *testing.T) {
	schemas := adapter.NewSchemas()
	one, zero := adapter.IntegerValue(1), adapter.IntegerValue(0)
	for _, c := range []struct {
		name     string
		resource adapter.Resource
		values   map[string]adapter.Value
		want     string
	}{
		{"nothing lacking", adapter.Customers, map[string]adapter.Value{"website_id": zero, "email": adapter.TextValue("e"), "group_id": one, "disable_auto_group_change": zero}, ""},
		{"one", adapter.Customers, map[string]adapter.Value{"website_id": zero, "email": adapter.TextValue("e"), "group_id": one}, "op: invalid (disable_auto_group_change): a value is required"},
		{"null and absent", adapter.Customers, map[string]adapter.Value{"website_id": adapter.NullValue(), "group_id": one, "disable_auto_group_change": zero}, "op: invalid (website_id): a value is required of each of website_id, email"},
		{"a time that nothing sets", adapter.OrderComments, map[string]adapter.Value{"parent_id": one, "is_customer_notified": zero}, "op: invalid (created_at): a value is required of each of created_at, is_visible_on_front"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := adapter.NewRecord(schemas.Of(c.resource))
			for name, v := range c.values {
				r.Set(name, v)
			}
			got := ""
			if err := rules.CheckRequired("op", r); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
