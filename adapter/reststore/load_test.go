package reststore

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// small is a mapping file that is right. Tests change a part of it.
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

// open opens a mapping with settings that are right.
func openSmall(content string) (*Backend, error) {
	return Open(Options{Mapping: []byte(content), File: "small.yaml", URL: "http://127.0.0.1:1", Secret: "s"})
}

func TestMappingErrors(t *testing.T) {
	if _, err := openSmall(smallMapping); err != nil {
		t.Fatalf("the mapping that is right: %v", err)
	}
	for _, c := range []struct {
		name     string
		old, new string
		want     []string // lines of the error, or parts of them
	}{
		{"no YAML", "name: small", "name: [", []string{"small.yaml: is not YAML"}},
		{"two documents", "name: small", "name: small\n---\nmore: 1", []string{"small.yaml:2: a mapping file is one YAML document"}},
		{"an alias", "vars: {currency: eur}", "vars: {currency: &c eur, other: *c}", []string{"small.yaml:2: anchors and aliases"}},
		{"a tag", "vars: {currency: eur}", "vars: {currency: !!str eur}", []string{"small.yaml:2: tags"}},
		{"an unknown member", "ping:", "pong:", []string{`small.yaml:5: connection has no "pong"; it has auth, headers, ping`}},
		{"a member twice", "    id: id", "    id: id\n    id: other", []string{`small.yaml:14: "id" is given in line 13 too`}},
		{"no name", "name: small\n", "", []string{"small.yaml:1: name is missing"}},
		{"a name that is none", "name: small", "name: Small Shop", []string{"small.yaml:1: name must be lower-case"}},
		{"a reserved variable", "currency: eur", "currency: eur, ids: x", []string{"small.yaml:2: $ids has a meaning of its own"}},
		{"two ways of proof", "{bearer: $secret}", "{bearer: $secret, basic: {user: u}}", []string{"small.yaml:4: auth has one of"}},
		{"no user in the settings", "{bearer: $secret}", "{basic: {user: $user, password: $secret}}", []string{"small.yaml:4: user needs the setting rest.user"}},
		{"a log-in without a token", "{bearer: $secret}", "{login: {request: {path: /in}}}", []string{"small.yaml:4: login needs a request, and a token"}},
		{"limits beyond theirs", "ping:", "limits: {response_bytes: 9GiB, depth: 0, timeout: 1h, in_flight: x}\n  ping:", []string{
			"small.yaml:5: response_bytes must be", "small.yaml:5: depth must be", "small.yaml:5: timeout must be", "small.yaml:5: in_flight must be"}},
		{"a budget that is none", "ping:", "retry: {budget: NaN}\n  ping:", []string{"small.yaml:5: budget must be"}},
		{"a rule of an unknown kind", "ping:", "errors: [{when: .x, kind: gone}]\n  ping:", []string{`small.yaml:5: kind "gone" is none of conflict,`}},
		{"a rule without a condition", "ping:", "errors: [{kind: conflict}]\n  ping:", []string{"small.yaml:5: a rule of errors needs when"}},
		{"an unknown resource", "  customers:\n", "  clients:\n", []string{`small.yaml:7: there is no resource "clients"`, "customers, of which customer_addresses are parts, are not mapped"}},
		{"an unknown attribute", "[email, group_id]", "[email, group_id, mail]", []string{`small.yaml:8: customers have no attribute "mail"`}},
		{"the key", "[email, group_id]", "[email, group_id, entity_id]", []string{"small.yaml:8: entity_id is the key"}},
		{"the owner", "[city]", "[city, customer_id]", []string{"customer_id is known by the document"}},
		{"a reference that is no id", "{group_id: customer_groups}", "{email: customer_groups}", []string{`small.yaml:9: customers have no attribute "email" that holds an id`, "group_id_ref"}},
		{"a reference to nothing", "{group_id: customer_groups}", "{group_id: groups}", []string{`small.yaml:9: there is no resource "groups"`}},
		{"no jq", "key: .legacy", "key: .legacy[", []string{"small.yaml:14: an expression is not jq: unexpected EOF"}},
		{"no jq in a block", "key: .legacy", "key: |\n      .legacy |\n      [1,,2]", []string{`small.yaml:16: an expression is not jq: unexpected token ","`}},
		{"an unknown function", "key: .legacy", "key: .legacy | integer", []string{"small.yaml:14: an expression is not jq: function not defined: integer/0"}},
		{"an unknown variable", "key: .legacy", "key: $legacy", []string{"small.yaml:14: an expression is not jq: variable not defined: $legacy; there are $currency"}},
		{"a variable of another place", "body: .new}]\n    delete", "body: $secret}]\n    delete", []string{"variable not defined: $secret; there are $item, $currency"}},
		{"input", "key: .legacy", "key: input", []string{"small.yaml:14: an expression is not jq: input"}},
		{"a member read does not have", "{email: .mail,", "{email: .mail, mail: 1,", []string{`small.yaml:15: read makes "mail", which is not one of email, group_id, group_id_ref`}},
		{"and behind a pipe", "'{email: .mail, group_id_ref: .group}'", "'.x as $x | if . then {email: .mail} else {mail: 1} + {(\"a\"): 1} end'", []string{`read makes "mail"`}},
		{"functions that are none", "vars:", "functions: .x\nvars:", []string{"small.yaml:2: functions must be definitions alone"}},
		{"functions that do not compile", "vars:", "functions: |\n  def a: 1;\n  def b: [1;\nvars:", []string{"small.yaml:4: an expression is not jq"}},
		{"functions of unknown ones", "vars:", "functions: 'def a: b;'\nvars:", []string{"small.yaml:2: an expression is not jq: function not defined: b/0"}},
		{"a module", "key: .legacy", "key: 'import \"x\" as x; 1'", []string{"small.yaml:14: an expression is not jq: it is a module"}},
		{"no id", "    id: id\n", "", []string{"small.yaml:7: customers has no id"}},
		{"no pages", ", pages: {offset: offset, size: 2}", "", []string{"small.yaml:11: scan needs pages"}},
		{"two kinds of pages", "{offset: offset,", "{offset: offset, page: page,", []string{"small.yaml:11: pages has one of"}},
		{"a cursor without an end", "{offset: offset,", "{cursor: {query: after},", []string{"small.yaml:11: cursor needs query"}},
		{"item and items", "item: customer}", "item: customer, items: x}", []string{"small.yaml:10: fetch needs items"}},
		{"a batch of one item", "item: customer}", "item: customer, batch: 5}", []string{"small.yaml:10: a fetch of a single item has no batch"}},
		{"a path elsewhere", "path: '/customers/{.id}', body", "path: 'http://x/{.id}', body", []string{"small.yaml:17: a path begins with a slash"}},
		{"a path with a query", "path: '/customers/{.id}', body", "path: '/customers/{.id}?x=1', body", []string{"small.yaml:17: a path has no ?"}},
		{"a path that is not closed", "path: '/customers/{.id}', body", "path: '/customers/{.id', body", []string{"small.yaml:17: a { of the path is not closed"}},
		{"an unknown method", "method: PATCH", "method: patch", []string{"small.yaml:17: method must be"}},
		{"no method", "{method: PATCH, path", "{path", []string{"small.yaml:17: method is missing"}},
		{"a missing verb", "    delete: [{method: DELETE, path: '/customers/{.id}'}]\n", "", []string{"small.yaml:7: customers has no delete, which the contract has"}},
		{"a verb that is missing and given", "without: {delete: it keeps them}", "delete: [{method: DELETE, path: /x}]\n    without: {delete: no}", []string{"small.yaml:27: delete is given, and said to be missing"}},
		{"a create that cannot be found", "    find: {path: /customers, query: {legacy: $key}, items: customers}\n", "", []string{"small.yaml:7: customers has create and no find"}},
		{"a find without a key", "    key: .legacy\n", "", []string{"small.yaml:12: find needs key"}},
		{"an id of an update", "body: .new}]\n    delete", "body: .new, id: .id}]\n    delete", []string{"small.yaml:17: id is that of a new record"}},
		{"the same name twice", "create: [{method: POST, path: /customers, body", "create: [{name: a, method: POST, path: /x}, {name: a, method: POST, path: /customers, body", []string{`small.yaml:16: another request of create is called "a"`}},
		{"match of parts with ids", "identified: true", "identified: true\n    match: [city]", []string{"match is for parts without ids"}},
		{"match of what is not kept", "identified: true", "match: [postcode]", []string{`match names "postcode"`}},
		{"a part of another root", "part_of: customers", "part_of: orders", []string{"customer_addresses are parts of customers"}},
		{"a root as a part", "    attributes: [email, group_id]", "    part_of: orders\n    attributes: [email, group_id]", []string{"customers cannot be a part", `customers has no "fetch"; it has part_of`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(smallMapping, c.old) {
				t.Fatalf("there is no %q", c.old)
			}
			_, err := openSmall(strings.Replace(smallMapping, c.old, c.new, 1))
			if err == nil {
				t.Fatal("taken")
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
	v, err := b.mapping.resources[0].read.eval(t.Context(), map[string]any{"mail": "X"})
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
		{"an unknown variable", Options{URL: "http://h", Vars: map[string]string{"locale": "x"}}, `small.yaml: has no variable "locale", which the settings name; it has currency`},
		{"no URL", Options{}, "the URL of the backend must be as https://shop.example"},
		{"another scheme", Options{URL: "ftp://h"}, "the URL of the backend must be"},
		{"no scheme and a password", Options{URL: "u:hidden@h"}, "the URL of the backend must be"},
		{"a URL with a password", Options{URL: "http://u:hidden@h"}, "have settings of their own"},
		{"a URL that is none", Options{URL: "http://h\x00hidden"}, "the URL of the backend is none"},
		{"no file of certificates", Options{URL: "https://h", TLS: TLS{CA: "missing.pem"}}, "the file of trusted certificates"},
		{"certificates that are none", Options{URL: "https://h", TLS: TLS{CA: "doc.go"}}, "doc.go holds no certificate"},
		{"no key", Options{URL: "https://h", TLS: TLS{Cert: "doc.go"}}, "the client's certificate"},
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
	kept := b.Kept()
	if len(kept) != 2 || kept[0].Resource != "customers" || kept[0].Root != "customers" || kept[0].Owner != "" || !kept[0].Deletes {
		t.Fatalf("%+v", kept)
	}
	if p := kept[1]; p.Root != "customers" || p.Owner != "customer_id" || !p.Identified || p.Deletes || !p.Updates || !slices.Equal(p.Attributes, []string{"city"}) {
		t.Errorf("%+v", p)
	}
}

func FuzzMapping(f *testing.F) {
	f.Add([]byte(smallMapping))
	f.Add([]byte(""))
	f.Add([]byte("resources: {customers: {part_of: x}}"))
	f.Add([]byte("name: a\nconnection: {errors: [1]}\nresources: [x]"))
	f.Add([]byte("resources:\n  products:\n    attributes: x\n    create: [{path: '/{{}{'}]"))
	example, _ := Mapping("example")
	f.Add(example)
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 4096+len(smallMapping) {
			return
		}
		m, err := load(&Options{Mapping: content, File: "fuzz.yaml", Secret: "s", Schemas: schemas})
		if err == nil {
			if len(m.resources) == 0 || m.name == "" {
				t.Errorf("taken, and empty: %+v", m)
			}
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !strings.HasPrefix(line, "fuzz.yaml:") && !strings.HasPrefix(line, "fuzz.yaml: ") {
				t.Errorf("a line without its place: %q", line)
			}
		}
		if !utf8.ValidString(err.Error()) {
			t.Errorf("no text: %q", err)
		}
	})
}

// scalarNode is a text of a mapping file.
func scalarNode(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: 1}
}
