package mapping_test

import (
	"testing"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// TestTooManyRequests checks that calls beyond a consumer's rate are refused with an envelope
// in the requested format, after the check of the credentials and before the check of the
// route.
func TestTooManyRequests(t *testing.T) {
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			with := settings()
			moment := with.Now()
			with.Now = func() time.Time { return moment }
			with.ConsumerRate, with.ConsumerBurst = 0.5, 2
			s := openShopWith(t, d, with, nil)
			get := func(role contract.Role, target, accept string, header ...string) resource.Response {
				return s.serve(role, "GET", target, "", append(header, "Accept", accept)...)
			}
			const item = "/stockitems/1"
			for range 3 {
				r := get(contract.Guest, item, "application/json", "Authorization", "OAuth oauth_consumer_key=x")
				if r.Status != 401 || r.RetryAfter != 0 {
					t.Errorf("without credentials: %d", r.Status)
				}
			}
			for _, role := range []contract.Role{contract.Admin, contract.Customer} { // both of one consumer
				if r := get(role, "/customers/1", "application/json"); r.Status != 200 || r.RetryAfter != 0 {
					t.Errorf("within the rate: %d %s", r.Status, r.Body)
				}
			}
			root := "<" + d.Root + ">"
			for accept, want := range map[string]string{
				"application/json": `{"messages":{"error":[{"code":429,"message":"Too many requests."}]}}`,
				"text/xml": "<?xml version=\"1.0\"?>\n" + root + "\n  <messages>\n    <error>\n      <data_item>\n        <code>429</code>\n" +
					"        <message>Too many requests.</message>\n      </data_item>\n    </error>\n  </messages>\n</" + root[1:] + "\n",
				"text/plain": "messages%5Berror%5D%5B0%5D%5Bcode%5D=429&messages%5Berror%5D%5B0%5D%5Bmessage%5D=Too+many+requests.",
			} {
				for _, target := range []string{item, "/nope", "/api/restx/nope"} {
					if r := get(contract.Admin, target, accept); r.Status != 429 || r.RetryAfter != 2 || string(r.Body) != want || r.Role != "admin" || r.Problem != "" {
						t.Errorf("%s of %s: %d, retry after %d s, %s %q", accept, target, r.Status, r.RetryAfter, r.Role, r.Body)
					}
				}
			}
			if r := get(contract.Guest, "/products/1", "application/json"); r.Status != 200 {
				t.Errorf("a guest: %d %s", r.Status, r.Body)
			}
			moment = moment.Add(2 * time.Second)
			if r := get(contract.Admin, item, "application/json"); r.Status != 200 {
				t.Errorf("after two seconds: %d %s", r.Status, r.Body)
			}
			if r := get(contract.Admin, item, "application/json"); r.Status != 429 {
				t.Errorf("another one: %d %s", r.Status, r.Body)
			}
		})
	}
}
