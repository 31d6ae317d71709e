package reststore

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// smallMapping is a valid mapping file. Tests change a part of it.
const smallMapping = `name: small
vars: {currency: eur}
connection:
  auth: {bearer: $secret}
  ping: {path: /health}
resources:
  customers:
    attributes: [email, group_id]
    references: {group_id: customer_groups}
    fetch: {path: '/customers/{$id}', item: customer}
    scan: {path: /customers, query: {since: $since}, items: customers, pages: {offset: offset, size: 2}}
    find: {path: /customers, query: {legacy: $key}, items: customers}
    id: id
    key: .legacy
    read: '{email: .mail, group_id_ref: .group}'
    create: [{method: POST, path: /customers, body: '{mail: .new.email, $currency}', id: .customer.id}]
    update: [{method: PATCH, path: '/customers/{.id}', body: .new}]
    delete: [{method: DELETE, path: '/customers/{.id}'}]
  customer_addresses:
    part_of: customers
    attributes: [city]
    items: '[.addresses[] | {id, city}]'
    identified: true
    create: [{method: POST, path: '/customers/{.root.id}/addresses', body: .new, id: .id}]
    update: [{method: PUT, path: '/addresses/{.id}', body: .new}]
    without: {delete: it keeps them}
`

// openSmall opens a mapping with valid settings.
func openSmall(content string) (*Backend, error) {
	return Open(Options{Mapping: []byte(content), File: "small.yaml", URL: "http://127.0.0.1:1", Secret: "s"})
}

func TestMappingErrors(t *testing.T) {
	checkMappingErrors(t, smallMapping, []mappingError{
		{"not YAML", "name: small", "name: [", []string{"small.yaml: is not YAML"}},
		{"two documents", "name: small", "name: small\n---\nmore: 1", []string{"small.yaml:2: must be a single YAML document"}},
		{"an alias", "vars: {currency: eur}", "vars: {currency: &c eur, other: *c}", []string{"small.yaml:2: vars.currency must not use anchors, aliases"}},
		{"a tag", "vars: {currency: eur}", "vars: {currency: !!str eur}", []string{"small.yaml:2: vars.currency must not use anchors, aliases and tags"}},
		{"a tag on resources", "resources:\n", "resources: !all\n", []string{"small.yaml:6: resources must not use anchors, aliases and tags"}},
		{"an unknown member", "ping:", "pong:", []string{`small.yaml:5: connection.pong is unknown; known members are graphql, auth, headers, ping, file_hosts, limits, retry, errors; did you mean ping?`}},
		{"duplicate member", "    id: id", "    id: id\n    id: other", []string{`small.yaml:14: resources.customers.id is already defined in line 13`}},
		{"no name", "name: small\n", "", []string{"small.yaml:1: name must have a value"}},
		{"invalid name", "name: small", "name: Small Shop", []string{"small.yaml:1: name must consist of lower-case"}},
		{"a reserved variable", "currency: eur", "currency: eur, ids: x", []string{"small.yaml:2: vars.ids is reserved"}},
		{"an invalid variable", "currency: eur", "Currency: eur", []string{"small.yaml:2: vars.Currency must consist of lower-case letters"}},
		{"two authentication methods", "{bearer: $secret}", "{bearer: $secret, basic: {user: u}}", []string{"small.yaml:4: connection.auth must have at most one of"}},
		{"no user in the settings", "{bearer: $secret}", "{basic: {user: $user, password: $secret}}", []string{"small.yaml:4: connection.auth.basic.user uses the setting rest.user"}},
		{"login without token", "{bearer: $secret}", "{login: {request: {path: /in}}}", []string{"small.yaml:4: connection.auth.login must have exactly one of token and token_header"}},
		{"limits out of range", "ping:", "limits: {response_bytes: 9GiB, depth: 0, timeout: 1h, in_flight: x}\n  ping:", []string{
			"small.yaml:5: connection.limits.response_bytes must be a number of bytes such as 16MiB from 1 to 1024MiB", "small.yaml:5: connection.limits.depth must be a whole number from 1 to 1000", "small.yaml:5: connection.limits.timeout must be a duration such as 10s from 1ms to 10m", "small.yaml:5: connection.limits.in_flight must be"}},
		{"a fraction", "ping:", "limits: {depth: 1.5}\n  ping:", []string{"small.yaml:5: connection.limits.depth must be a whole number"}},
		{"invalid budget", "ping:", "retry: {budget: NaN}\n  ping:", []string{"small.yaml:5: connection.retry.budget must be a number from 0 to 1"}},
		{"values of another form", "ping:", "limits: [1]\n  errors: {when: .x}\n  headers: {X: [1]}\n  ping:", []string{
			"small.yaml:5: connection.limits must be a mapping", "small.yaml:6: connection.errors must be a list", "small.yaml:7: connection.headers.X must be a string"}},
		{"null in lists and mappings", "ping: {path: /health}", "errors: [~]\n  ping: {path: /health, query: {a: ~}}", []string{
			"small.yaml:5: connection.errors[0] must have a value", "small.yaml:6: connection.ping.query.a must have a value"}},
		{"a rule of an unknown kind", "ping:", "errors: [{when: .x, kind: gone}]\n  ping:", []string{`small.yaml:5: connection.errors[0].kind must be internal, not_found, conflict, invalid, unsupported or unavailable`}},
		{"a rule without a condition", "ping:", "errors: [{kind: conflict}]\n  ping:", []string{"small.yaml:5: connection.errors[0].when must have a value"}},
		{"an unknown resource", "  customers:\n", "  clients:\n", []string{`small.yaml:7: resources.clients is an unknown resource`, "resources.customer_addresses.part_of is customers, which resources must have"}},
		{"an unknown attribute", "[email, group_id]", "[email, group_id, mail]", []string{`small.yaml:8: resources.customers.attributes[2] is "mail", which is not an attribute of customers`}},
		{"the key", "[email, group_id]", "[email, group_id, entity_id]", []string{"small.yaml:8: resources.customers.attributes[2] must not be entity_id"}},
		{"the owner", "[city]", "[city, customer_id]", []string{"resources.customer_addresses.attributes[1] must not be customer_id"}},
		{"reference of wrong type", "{group_id: customer_groups}", "{email: customer_groups}", []string{`small.yaml:9: resources.customers.references.email is not an integer attribute`, "group_id_ref"}},
		{"reference to unknown resource", "{group_id: customer_groups}", "{group_id: groups}", []string{`small.yaml:9: resources.customers.references.group_id is the unknown resource "groups"`}},
		{"invalid jq", "key: .legacy", "key: .legacy[", []string{"small.yaml:14: resources.customers.key is not a valid jq expression: unexpected EOF"}},
		{"invalid jq in a block", "key: .legacy", "key: |\n      .legacy |\n      [1,,2]", []string{`small.yaml:16: resources.customers.key is not a valid jq expression: unexpected token ","`}},
		{"an unknown function", "key: .legacy", "key: .legacy | integer", []string{"small.yaml:14: resources.customers.key is not a valid jq expression: function not defined: integer/0"}},
		{"an unknown variable", "key: .legacy", "key: $legacy", []string{"small.yaml:14: resources.customers.key is not a valid jq expression: variable not defined: $legacy; available: $currency"}},
		{"unavailable variable", "body: .new}]\n    delete", "body: $secret}]\n    delete", []string{"variable not defined: $secret; available: $item, $currency"}},
		{"input", "key: .legacy", "key: input", []string{"small.yaml:14: resources.customers.key is not a valid jq expression: input"}},
		{"unknown attribute in read", "{email: .mail,", "{email: .mail, mail: 1,", []string{`small.yaml:15: resources.customers.read returns "mail", which is not one of email, group_id, group_id_ref`}},
		{"unknown attribute behind a pipe", "'{email: .mail, group_id_ref: .group}'", "'.x as $x | if . then {email: .mail} else {mail: 1} + {(\"a\"): 1} end'", []string{`read returns "mail"`}},
		{"functions without definitions", "vars:", "functions: .x\nvars:", []string{"small.yaml:2: functions must contain only definitions"}},
		{"functions that do not compile", "vars:", "functions: |\n  def a: 1;\n  def b: [1;\nvars:", []string{"small.yaml:4: functions is not a valid jq expression"}},
		{"functions that call unknown functions", "vars:", "functions: 'def a: b;'\nvars:", []string{"small.yaml:2: functions is not a valid jq expression: function not defined: b/0"}},
		{"a module", "key: .legacy", "key: 'import \"x\" as x; 1'", []string{"small.yaml:14: resources.customers.key is not a valid jq expression: modules are not supported"}},
		{"no id", "    id: id\n", "", []string{"small.yaml:7: resources.customers.id must have a value"}},
		{"no pages", ", pages: {offset: offset, size: 2}", "", []string{"small.yaml:11: resources.customers.scan needs pages"}},
		{"two kinds of pages", "{offset: offset,", "{offset: offset, page: page,", []string{"small.yaml:11: resources.customers.scan.pages must have exactly one of"}},
		{"pages of a whole list", "{offset: offset,", "{whole: true, offset: offset,", []string{"small.yaml:11: resources.customers.scan.pages must have exactly one of"}},
		{"an index in a path", "pages: {offset: offset,", "pages: {total: 'a[0]', offset: offset,", []string{"small.yaml:11: resources.customers.scan.pages.total must be names separated by dots"}},
		{"cursor without next", "{offset: offset,", "{cursor: {query: after},", []string{"small.yaml:11: resources.customers.scan.pages.cursor.next must have a value"}},
		{"item and items", "item: customer}", "item: customer, items: x}", []string{"small.yaml:10: resources.customers.fetch needs items"}},
		{"versions without a version", "    id: id\n", "    id: id\n    versions: {path: /customers, items: customers}\n", []string{"small.yaml:14: resources.customers.versions needs version"}},
		{"a version with a join", "    id: id\n", "    id: id\n    version: rev\n    joins: [{from: a, as: b, path: /b, items: b, id: id}]\n", []string{"small.yaml:14: resources.customers.version must not be used together with joins"}},
		{"a version of a part", "    identified: true\n", "    identified: true\n    version: rev\n", []string{"resources.customer_addresses.version is only allowed in a resource without part_of"}},
		{"a batch of one item", "item: customer}", "item: customer, batch: 5}", []string{"small.yaml:10: resources.customers.fetch must not have batch together with item"}},
		{"local reads of a part", "    identified: true\n", "    identified: true\n    local_reads: true\n", []string{"resources.customer_addresses.local_reads is only allowed in a resource without part_of"}},
		{"where in fetch", "item: customer}", "item: customer, where: .x}", []string{"small.yaml:10: resources.customers.fetch.where is only allowed in scan"}},
		{"a batch in find", "query: {legacy: $key},", "query: {legacy: $key}, batch: 2,", []string{"small.yaml:12: resources.customers.find.batch is only allowed in fetch or joins"}},
		{"path with a host", "path: '/customers/{.id}', body", "path: 'http://x/{.id}', body", []string{"small.yaml:17: resources.customers.update[0].path must begin with a slash"}},
		{"a path with a query", "path: '/customers/{.id}', body", "path: '/customers/{.id}?x=1', body", []string{"small.yaml:17: resources.customers.update[0].path must not contain ?"}},
		{"path with unclosed brace", "path: '/customers/{.id}', body", "path: '/customers/{.id', body", []string{"small.yaml:17: resources.customers.update[0].path is not a valid jq expression: there is a { without a matching }"}},
		{"an unknown method", "method: PATCH", "method: patch", []string{"small.yaml:17: resources.customers.update[0].method must be"}},
		{"no method", "{method: PATCH, path", "{path", []string{"small.yaml:17: resources.customers.update[0].method must be"}},
		{"missing operation", "    delete: [{method: DELETE, path: '/customers/{.id}'}]\n", "", []string{"small.yaml:7: resources.customers needs delete, which the contract has"}},
		{"operation both defined and missing", "without: {delete: it keeps them}", "delete: [{method: DELETE, path: /x}]\n    without: {delete: no}", []string{"small.yaml:27: resources.customer_addresses.without.delete must not be given"}},
		{"create without find", "    find: {path: /customers, query: {legacy: $key}, items: customers}\n", "", []string{"small.yaml:7: resources.customers has create but no find"}},
		{"a find without a key", "    key: .legacy\n", "", []string{"small.yaml:12: resources.customers.find needs key"}},
		{"id in update", "body: .new}]\n    delete", "body: .new, id: .id}]\n    delete", []string{"small.yaml:17: resources.customers.update[0].id is only allowed in a request of create"}},
		{"duplicate request name", "create: [{method: POST, path: /customers, body", "create: [{name: a, method: POST, path: /x}, {name: a, method: POST, path: /customers, body", []string{`small.yaml:16: resources.customers.create[1].name is "a", as of another request`}},
		{"undone by no request", "create: [{method: POST, path: /customers, body", "create: [{method: POST, path: /customers, undone_by: a, body", []string{`small.yaml:16: resources.customers.create[0].undone_by must be the name of an earlier request with undo`}},
		{"undone by a request without undo", "create: [{method: POST, path: /customers, body", "create: [{name: a, method: POST, path: /x}, {undone_by: a, method: POST, path: /customers, body", []string{`small.yaml:16: resources.customers.create[1].undone_by must be`}},
		{"match with identified", "identified: true", "identified: true\n    match: [city]", []string{"match must not be used together with identified"}},
		{"match with an attribute that is not mapped", "identified: true", "match: [postcode]", []string{`resources.customer_addresses.match[0] is "postcode", which must be in attributes`}},
		{"an order that is no number", "identified: true", "identified: true\n    order: city", []string{"resources.customer_addresses.order must be an integer attribute"}},
		{"pages of a find that is not among others", "find: {path: /customers, query: {legacy: $key}, items: customers}", "find: {path: /customers, items: customers, pages: {page: p}}", []string{"small.yaml:12: resources.customers.find.pages needs among: true"}},
		{"a header with an unclosed brace", "path: '/customers/{.id}', body", "path: '/customers/{.id}', headers: {If-Match: '{.id'}, body", []string{"resources.customers.update[0].headers.If-Match is not a valid jq expression"}},
		{"an invalid name of a header", "path: '/customers/{.id}', body", "path: '/customers/{.id}', headers: {'If Match': x}, body", []string{"is not a valid header"}},
		{"a part of another root", "part_of: customers", "part_of: orders", []string{"customer_addresses are parts of customers"}},
		{"a root as a part", "    attributes: [email, group_id]", "    part_of: orders\n    attributes: [email, group_id]", []string{"customers cannot be a part", `resources.customers.fetch is only allowed in a resource without part_of`}},
	})
}

// A mappingError is a change of a mapping that makes it invalid.
type mappingError struct {
	name     string
	old, new string
	want     []string // lines of the error, or parts of them
}

func checkMappingErrors(t *testing.T, valid string, all []mappingError) {
	t.Helper()
	if _, err := openSmall(valid); err != nil {
		t.Fatalf("the valid mapping: %v", err)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(valid, c.old) {
				t.Fatalf("the mapping does not contain %q", c.old)
			}
			_, err := openSmall(strings.Replace(valid, c.old, c.new, 1))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nhas no %q", err, want)
				}
			}
		})
	}
}

func TestMappingFunctions(t *testing.T) {
	content := strings.Replace(smallMapping, "vars:", "functions: 'def mail: .mail | ascii_downcase + $currency;'\nvars:", 1)
	b, err := openSmall(strings.Replace(content, "{email: .mail,", "{email: mail,", 1))
	if err != nil {
		t.Fatal(err)
	}
	v, err := b.mapping.resources[0].Read.eval(t.Context(), map[string]any{"mail": "X"})
	if got, _ := v.(map[string]any); err != nil || got["email"] != "xeur" {
		t.Errorf("%v, %v", v, err)
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"an unknown variable", Options{URL: "http://h", Vars: map[string]string{"locale": "x"}}, `small.yaml: has no variable "locale", which rest.vars sets; it has currency`},
		{"no URL", Options{}, "the URL of the backend must be an http or https URL such as https://shop.example"},
		{"another scheme", Options{URL: "ftp://h"}, "the URL of the backend must be"},
		{"no scheme and a password", Options{URL: "u:hidden@h"}, "the URL of the backend must be"},
		{"a URL with a password", Options{URL: "http://u:hidden@h"}, "must not have a user"},
		{"an invalid URL", Options{URL: "http://h\x00hidden"}, "the URL of the backend cannot be parsed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Mapping, c.o.File, c.o.Secret = []byte(smallMapping), "small.yaml", "s"
			_, err := Open(c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestResources(t *testing.T) {
	b, err := openSmall(smallMapping)
	if err != nil {
		t.Fatal(err)
	}
	kept := b.Resources()
	if len(kept) != 2 || kept[0].Resource != "customers" || kept[0].Root != "customers" || !kept[0].Deletes {
		t.Fatalf("%+v", kept)
	}
	if p := kept[1]; p.Root != "customers" || !p.HasIDs || p.Deletes || !p.Updates || !slices.Equal(p.Attributes, []string{"city"}) {
		t.Errorf("%+v", p)
	}
}

func FuzzMapping(f *testing.F) {
	f.Add([]byte(smallMapping))
	f.Add([]byte(""))
	f.Add([]byte("resources: {customers: {part_of: x}}"))
	f.Add([]byte("name: a\nconnection: {errors: [1]}\nresources: [x]"))
	f.Add([]byte("resources:\n  products:\n    attributes: x\n    create: [{path: '/{{}{'}]"))
	for _, name := range []string{"example", "examplegraphql"} {
		example, _ := Mapping(name)
		f.Add(example)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 4096+len(smallMapping) {
			return
		}
		m, err := load(&Options{Mapping: content, File: "fuzz.yaml", Secret: "s", Schemas: schemas})
		if faults := slices.ContainsFunc(Check(Options{Mapping: content, File: "fuzz.yaml"}), func(r Remark) bool { return r.Level == Fault }); err == nil && faults {
			t.Error("Check has faults of a mapping that can be loaded")
		}
		if err == nil {
			if len(m.resources) == 0 || m.Name == "" {
				t.Errorf("accepted an empty mapping: %+v", m)
			}
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !strings.HasPrefix(line, "fuzz.yaml:") && !strings.HasPrefix(line, "fuzz.yaml: ") {
				t.Errorf("error line without a location: %q", line)
			}
		}
		if !utf8.ValidString(err.Error()) {
			t.Errorf("the error is not valid UTF-8: %q", err)
		}
	})
}
