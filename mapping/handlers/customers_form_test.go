package handlers

import (
	"slices"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

// TestRuleFieldsExist checks that every rule of a form is of a field that is in the table
// and has an attribute, and that every writable field has a rule.
func TestRuleFieldsExist(t *testing.T) {
	fields := contract.StandardFields()
	for name, table := range map[string]*contract.FieldTable{"customers": fields.Customers, "addresses": fields.CustomerAddresses} {
		for _, rule := range table.Rules.Rules {
			at, ok := table.Index(rule.Field)
			if !ok || !table.Fields[at].Writable(contract.Documented(), contract.Admin) {
				t.Errorf("%s: an Admin cannot write %s", name, rule.Field)
			} else if table.Fields[at].Attribute == "" && rule.Check != contract.Password {
				t.Errorf("%s: %s has no attribute", name, rule.Field)
			}
		}
		for _, f := range table.Fields {
			if f.Writable(contract.Documented(), contract.Admin) && !slices.ContainsFunc(table.Rules.Rules, func(rule contract.Rule) bool { return rule.Field == f.Name }) {
				t.Errorf("%s: %s is writable but has no rule", name, f.Name)
			}
		}
	}
}
