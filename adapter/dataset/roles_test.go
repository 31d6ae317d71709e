package dataset_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
)

// TestRolesRoundTrip exports roles, loads the export, and exports it again.
func TestRolesRoundTrip(t *testing.T) {
	t.Parallel()
	schemas := adapter.NewSchemas()
	again := func(roles adapter.AccessRoles) adapter.AccessRoles {
		t.Helper()
		var out bytes.Buffer
		e := dataset.NewEncoder(&out, schemas, nil)
		admins := make([]adapter.Aggregate, 4)
		for i := range admins {
			admins[i].Record = adapter.NewRecord(schemas.Of(adapter.Admins))
			admins[i].Record.Set("admin_id", adapter.IntegerValue(int64(i+1)))
			admins[i].Record.Set("username", adapter.TextValue(fmt.Sprint("admin", i)))
		}
		if err := e.WriteList(adapter.Admins, func(after adapter.Key) ([]adapter.Aggregate, error) { return admins[max(0, min(after, 4)):], nil }); err != nil {
			t.Fatal(err)
		}
		if err := e.WriteRoles(roles); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := dataset.Decode(&out, schemas, nil)
		if err != nil {
			t.Fatal(err)
		}
		return data.Roles
	}
	own := adapter.FirstOwnRole
	roles := adapter.AccessRoles{
		Roles: []adapter.AccessRole{{ID: 5, Name: "Stock", Imported: true, Rules: []adapter.AccessRule{{Resource: adapter.StockItems, Privilege: "retrieve"}}}, {ID: own, Name: "(none)"}},
		Assigned: []adapter.RoleAssignment{
			{AdminID: 1, RoleID: 5, Imported: true}, {AdminID: 2, RoleID: 5}, {AdminID: 3, Everything: true}, {AdminID: 4, Imported: true},
		},
	}
	got := again(roles)
	want := roles
	want.Roles = append(want.Roles[:2:2], adapter.AccessRole{ID: own + 1, Name: "(none 2)"})
	want.Assigned = append(want.Assigned[:3:3], adapter.RoleAssignment{AdminID: 4, RoleID: own + 1, Imported: true})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
