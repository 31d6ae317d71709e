package program

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestRoleCommands narrows an administrator, the Guests and the Customers of a running shop by
// commands, and widens them again.
func TestRoleCommands(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	p := apptest.Start(t, commands)
	guest := apptest.NewClient(t, strings.TrimSuffix(p.Contract, "/api/rest"), "")
	reads := func(path string, want int) {
		t.Helper()
		testenv.Await(t, fmt.Sprintf("%d from %s", want, path), func() bool {
			got, err := guest.Call(t.Context(), http.MethodGet, path, "")
			if err != nil {
				t.Fatal(err)
			}
			return got.Status == want
		})
	}
	reads("/products/1", 200)
	commands.MustRun(t, "credentials", "set-role", "--name", "Guest", "--allow", "product_images: retrieve")
	reads("/products/1", 403)
	reads("/products/1/images", 200)
	if printed := commands.MustRun(t, "routes", "--role", "guest"); strings.Contains(printed, "listProducts") || !strings.Contains(printed, "listProductImages") || strings.Contains(printed, "createProductImage") {
		t.Errorf("the routes of Guests are\n%s", printed)
	}
	commands.MustRun(t, "credentials", "remove-role", "--name", "guest")
	reads("/products/1", 200)

	commands.MustRun(t, "credentials", "set-role", "--name", "warehouse", "--allow", "stock_items:retrieve , update", "--allow", "products: retrieve")
	commands.MustRun(t, "credentials", "assign-role", "--username", "admin", "--role", "Warehouse")
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"list", "roles"}, "products: retrieve; stock_items: retrieve, update"},
		{[]string{"list", "admins"}, "warehouse"},
	} {
		if printed := commands.MustRun(t, append([]string{"credentials"}, c.arguments...)...); !strings.Contains(printed, c.want) {
			t.Errorf("%v prints\n%s", c.arguments, printed)
		}
	}
	if printed := commands.MustRun(t, "routes", "--role", "warehouse"); !strings.Contains(printed, "updateStockItem") || strings.Contains(printed, "updateProduct") || strings.Contains(printed, "guest") {
		t.Errorf("the routes of the role are\n%s", printed)
	}
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"credentials", "set-role", "--name", "x", "--allow", "carts: retrieve"}, `there is no resource "carts": use one of customers,`},
		{[]string{"credentials", "set-role", "--name", "x", "--allow", "products: read"}, `there is no privilege "read"`},
		{[]string{"credentials", "set-role", "--name", "x", "--allow", "products"}, "needs a colon"},
		{[]string{"credentials", "remove-role", "--name", "warehouse"}, "give them another one first"},
		{[]string{"credentials", "remove-role", "--name", "x"}, "there is no role of that name"},
		{[]string{"credentials", "assign-role", "--username", "admin", "--role", "x"}, "there is no role of that name"},
		{[]string{"credentials", "assign-role", "--username", "x", "--role", "warehouse"}, "there is no such administrator"},
		{[]string{"routes", "--role", "x"}, `the store has no role "x"`},
	} {
		if _, _, err := commands.Run(t, c.arguments...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", strings.Join(slices.Clone(c.arguments), " "), err, c.want)
		}
	}
	// A store that is filled with what this one exports has its roles.
	_, other := apptest.NewStore(t, apptest.SecretKey)
	other.MustRun(t, "seed", "--dataset", apptest.NewFile(t, "exported.json", commands.MustRun(t, "export")))
	for _, list := range []string{"roles", "admins"} {
		if got, want := other.MustRun(t, "credentials", "list", list), commands.MustRun(t, "credentials", "list", list); got != want || !strings.Contains(got, "warehouse") {
			t.Errorf("exported %s:\n%s\nwant\n%s", list, got, want)
		}
	}
	commands.MustRun(t, "credentials", "assign-role", "--username", "admin", "--everything")
	commands.MustRun(t, "credentials", "remove-role", "--name", "warehouse")
}
