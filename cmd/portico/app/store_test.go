package app

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// The credentials of the data sets made here.
var (
	ownKey         = strings.Repeat("3", 32)
	ownSecret      = strings.Repeat("4", 32)
	ownToken       = strings.Repeat("5", 32)
	ownTokenSecret = strings.Repeat("6", 32)
)

// writeDataset writes the demo data set with other credentials, without passwords, and
// with the members of changes, and returns the path of the file. A nil member is removed.
func writeDataset(t *testing.T, changes map[string]any) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "adapter", "demo", "dataset.json"))
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]any{}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for name, member := range members {
		data[name] = member
	}
	// Hashing passwords takes long, and no test here logs in.
	var customers []map[string]json.RawMessage
	if err := json.Unmarshal(members["customers"], &customers); err != nil {
		t.Fatal(err)
	}
	for _, customer := range customers {
		delete(customer, "password")
	}
	data["customers"] = customers
	data["credentials"] = map[string]any{
		"consumer": map[string]any{"key": ownKey, "secret": ownSecret},
		"admin":    map[string]any{"token": ownToken, "secret": ownTokenSecret, "admin_id": 1},
	}
	for name, member := range changes {
		data[name] = member
		if member == nil {
			delete(data, name)
		}
	}
	if text, err = json.Marshal(data); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dataset.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newStore returns the path of a new database, and a console whose commands use it. Its variables
// are also the environment for a server.
func newStore(t *testing.T, key string) (path string, commands console) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	return path, console{"PORTICO_SQL_DSN=sqlite:" + path, "PORTICO_AUTH_SECRET_KEY=" + key}
}

// addConsumer adds a consumer with the command.
func (c console) addConsumer(t *testing.T, name string) (added printedConsumer) {
	t.Helper()
	parse(t, c.mustRun(t, "credentials", "add-consumer", "--name", name, "--json"), &added)
	return added
}

// addToken adds a token of the consumer with the given key.
func (c console) addToken(t *testing.T, key, owner, id string) (token printedToken) {
	t.Helper()
	parse(t, c.mustRun(t, "credentials", "add-token", "--consumer", key, owner, id, "--json"), &token)
	return token
}

// addAdmin adds an administrator and returns the id.
func (c console) addAdmin(t *testing.T, username string) (id string) {
	t.Helper()
	text, _, err := c.runWith(t, fileWith(t, "a good one"), waitTimeout, "credentials", "add-admin", "--username", username, "--password-file", "-", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var admin printedAdmin
	parse(t, text, &admin)
	return strconv.FormatInt(admin.ID, 10)
}

// parse decodes JSON into into.
func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// databaseBytes returns the bytes of a database and its journals.
func databaseBytes(t *testing.T, path string) string {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no database at %s (%v)", path, err)
	}
	var all strings.Builder
	for _, file := range files {
		if file == sqlstore.MediaDir(path) {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

// TestOwnStore fills a store, creates credentials, calls it in both dialects across
// restarts, and revokes a token.
func TestOwnStore(t *testing.T) {
	path, commands := newStore(t, secretKey)
	dataset := writeDataset(t, nil)
	if got := commands.mustRun(t, "seed", "--dataset", dataset); !strings.HasSuffix(got, " records stored\n") || strings.HasPrefix(got, "0 ") {
		t.Errorf("seed prints %q", got)
	}
	if _, _, err := commands.run(t, "seed", "--dataset", dataset); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("a store with data is filled again: %v", err)
	}

	consumer := commands.addConsumer(t, "ERP")
	admin := commands.addToken(t, consumer.Key, "--admin", "1")
	customer := commands.addToken(t, strings.ToUpper(consumer.Key), "--customer", "1")
	secrets := []string{consumer.Secret, admin.Secret, customer.Secret, ownSecret, ownTokenSecret}
	for _, secret := range secrets {
		if len(secret) != 32 || strings.Contains(databaseBytes(t, path), secret) {
			t.Errorf("the secret %q is stored unencrypted", secret)
		}
	}
	if !strings.Contains(databaseBytes(t, path), admin.Token) {
		t.Error("the token is not in the file: the search above proves nothing")
	}
	for _, arguments := range [][]string{{"credentials", "list"}, {"credentials", "list", "--json"}} {
		listed := commands.mustRun(t, arguments...)
		for _, secret := range secrets {
			if strings.Contains(listed, secret) {
				t.Errorf("%v shows a secret:\n%s", arguments, listed)
			}
		}
		for _, shown := range []string{"ERP", consumer.Key, admin.Token, customer.Token, ownKey, ownToken} {
			if !strings.Contains(listed, shown) {
				t.Errorf("%v does not show %s:\n%s", arguments, shown, listed)
			}
		}
	}

	asAdmin := plaintextHeader(consumer.Key, consumer.Secret, admin.Token, admin.Secret)
	asCustomer := plaintextHeader(consumer.Key, consumer.Secret, customer.Token, customer.Secret)
	p := start(t, commands)
	if said := p.stdout.text(); strings.Contains(said, "curl") || strings.Contains(said, "Demo") {
		t.Errorf("a store that is no demo announces\n%s", said)
	}
	item := p.contract + "/api/rest/stockitems/1"
	if got := send(t, "PUT", item, `{"qty":"42.5"}`, "Content-Type", "application/json", "Authorization", asAdmin); got.status != http.StatusOK {
		t.Errorf("update: %d %s", got.status, got.body)
	}
	if got := stockQty(t, p.contract, plaintextHeader(ownKey, ownSecret, ownToken, ownTokenSecret)); got != "42.5000" {
		t.Errorf("by the data set's own credentials there are %s", got)
	}
	if got := send(t, "GET", item, "", "Authorization", asCustomer, "Accept", "application/json"); got.status != http.StatusForbidden {
		t.Errorf("a customer gets %d %s, want 403", got.status, got.body)
	}
	if got := send(t, "GET", item, "", "Authorization", demoAdmin(), "Accept", "application/json"); got.status != http.StatusUnauthorized || !strings.Contains(got.body, "consumer_key_rejected") {
		t.Errorf("the public credentials get %d %s, want 401", got.status, got.body)
	}
	if got := send(t, "POST", p.ops+"/demo/reset", ""); got.status != http.StatusNotFound {
		t.Errorf("a reset of a store that is no demo: %d", got.status)
	}
	p.stop(t)
	if said := p.stderr.text(); strings.Contains(said, "unencrypted") {
		t.Errorf("a warning in spite of the key:\n%s", said)
	}

	p = start(t, commands, "--dialect", "magento")
	if got := stockQty(t, p.contract, asAdmin); got != "42.5000" {
		t.Errorf("after a restart there are %s", got)
	}
	p.stop(t)

	if got := commands.mustRun(t, "credentials", "revoke", strings.ToUpper(admin.Token)); got != "revoked\n" {
		t.Errorf("revoke prints %q", got)
	}
	p = start(t, commands)
	got := send(t, "GET", p.contract+"/api/rest/stockitems/1", "", "Authorization", asAdmin, "Accept", "application/json")
	if got.status != http.StatusUnauthorized || !strings.Contains(got.body, "oauth_problem=token_revoked") {
		t.Errorf("the revoked token gets %d %s", got.status, got.body)
	}
	p.stop(t)

	commands.mustRun(t, "seed", "--dataset", dataset, "--replace")
	if listed := commands.mustRun(t, "credentials", "list"); strings.Contains(listed, "ERP") || !strings.Contains(listed, ownKey) {
		t.Errorf("--replace leaves\n%s", listed)
	}
}

// TestSeedRefuses checks that data sets with faults are refused and leave the store
// unchanged.
func TestSeedRefuses(t *testing.T) {
	public := func(token, secret string) map[string]any {
		return map[string]any{"credentials": map[string]any{
			"consumer": map[string]any{"key": ownKey, "secret": ownSecret},
			"admin":    map[string]any{"token": token, "secret": secret, "admin_id": 1},
		}}
	}
	const isPublic = "public credentials"
	tests := []struct {
		name    string
		changes map[string]any
		want    string
	}{
		{"the demo's consumer", map[string]any{"credentials": map[string]any{"consumer": map[string]any{"key": strings.Repeat("a", 32), "secret": ownSecret}}}, isPublic},
		{"the demo's token", public(strings.Repeat("c", 32), ownTokenSecret), isPublic},
		{"the demo's token in capitals", public(strings.Repeat("C", 32), ownTokenSecret), isPublic},
		{"the demo's secret", public(ownToken, strings.Repeat("d", 32)), isPublic},
		{"unknown member", map[string]any{"warehouses": []any{}}, "warehouses"},
		{"unknown field", map[string]any{"websites": []any{map[string]any{"website_id": 1, "code": "base", "name": "Main", "colour": "red"}}}, "colour"},
		{"unknown field of a credential", map[string]any{"credentials": map[string]any{"consumer": map[string]any{"key": ownKey, "secret": ownSecret, "role": "x"}}}, "role"},
		{"stores without websites", map[string]any{"websites": nil}, "websites 1 does not exist"},
		{"token too short", public("5", ownTokenSecret), "32 characters"},
	}
	path, commands := newStore(t, secretKey)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, _, err := commands.run(t, "seed", "--dataset", writeDataset(t, tt.changes))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if stdout != "" {
				t.Errorf("prints %q", stdout)
			}
		})
	}
	for name, content := range map[string]string{"empty file": "", "no JSON": "<r/>", "trailing text": "{} {}", "bad UTF-8": "{\"\xff\":1}"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "dataset.json")
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := commands.run(t, "seed", "--dataset", file); err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("got %v, want a message with the file's name", err)
			}
		})
	}
	if _, _, err := commands.run(t, "seed", "--dataset", filepath.Join(t.TempDir(), "missing.json")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing file: %v", err)
	}

	// All of them left the store empty, so a good data set needs no --replace.
	commands.mustRun(t, "seed", "--dataset", writeDataset(t, nil))
	before := databaseBytes(t, path)
	if _, _, err := commands.run(t, "seed", "--replace", "--dataset", writeDataset(t, map[string]any{"websites": nil})); err == nil {
		t.Error("--replace takes a broken data set")
	}
	if listed := commands.mustRun(t, "credentials", "list"); !strings.Contains(listed, ownToken) || !strings.Contains(before, ownToken) {
		t.Errorf("a failed --replace leaves\n%s", listed)
	}
}

// TestSeedNothing checks that a data set without lists changes nothing, and that a server
// says how to fill an empty store.
func TestSeedNothing(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "store.json")
	if err := os.WriteFile(file, []byte(`{"$comment": "later"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, commands := newStore(t, secretKey)
	for _, arguments := range []string{"seed --dataset " + file, "seed --replace --dataset " + file} {
		if got := commands.mustRun(t, strings.Fields(arguments)...); got != "nothing to store: the data set has no lists\n" {
			t.Errorf("%s prints %q", arguments, got)
		}
	}
	p := start(t, commands)
	p.stop(t)
	if said := p.stderr.text(); strings.Count(said, "portico seed or portico import, or try portico serve --demo") != 1 {
		t.Errorf("a server of an empty store logs\n%s", said)
	}
	commands.mustRun(t, "seed", "--dataset", writeDataset(t, nil))
	p = start(t, commands)
	p.stop(t)
	if said := p.stderr.text(); strings.Contains(said, "portico seed") {
		t.Errorf("a server of a filled store logs\n%s", said)
	}
}

// TestCredentialsCommands checks the errors and output of the credentials commands.
func TestCredentialsCommands(t *testing.T) {
	_, commands := newStore(t, secretKey)
	commands.mustRun(t, "seed", "--dataset", writeDataset(t, nil))
	const consumer = "--consumer"
	tests := []struct {
		name      string
		arguments []string
		want      string // of the message
	}{
		{"consumer there already", []string{"add-consumer", "--name", "x", "--key", ownKey}, "exists already"},
		{"consumer there in capitals", []string{"add-consumer", "--name", "x", "--key", strings.ToUpper(strings.Repeat("3", 32))}, "exists already"},
		{"key too short", []string{"add-consumer", "--name", "x", "--key", "3"}, "key: must have 32 characters"},
		{"unknown consumer", []string{"add-token", consumer, strings.Repeat("8", 32), "--admin", "1"}, "no consumer with that key"},
		{"unknown customer", []string{"add-token", consumer, ownKey, "--customer", "99"}, "no such customer"},
		{"unknown administrator", []string{"add-token", consumer, ownKey, "--admin", "99"}, "there is no administrator 99"},
		{"API key for an unknown customer", []string{"add-key", "--name", "x", "--customer", "99"}, "no such customer"},
		{"revoke an unknown key", []string{"revoke", "--key", "99"}, "no such key"},
		{"customer zero", []string{"add-token", consumer, ownKey, "--customer", "0"}, "must be positive"},
		{"administrator zero", []string{"add-token", consumer, ownKey, "--admin", "0"}, "must be positive"},
		{"administrator below zero", []string{"add-token", consumer, ownKey, "--admin", "-1"}, "must be positive"},
		{"no number", []string{"add-token", consumer, ownKey, "--admin", "root"}, "invalid argument"},
		{"token there already", []string{"add-token", consumer, ownKey, "--admin", "1", "--token", ownToken}, "exists already"},
		{"token too short", []string{"add-token", consumer, ownKey, "--admin", "1", "--token", "5"}, "token: must have 32 characters"},
		{"revoke an unknown token", []string{"revoke", strings.Repeat("8", 32)}, "no such token"},
	}
	before := commands.mustRun(t, "credentials", "list")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := commands.run(t, append([]string{"credentials"}, tt.arguments...)...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if after := commands.mustRun(t, "credentials", "list"); after != before {
		t.Errorf("a refused command changed the store from\n%s\nto\n%s", before, after)
	}

	printed := strings.Fields(commands.mustRun(t, "credentials", "add-consumer", "--name", "ERP", "--key", strings.Repeat("8", 32), "--secret", "known"))
	if want := strings.Fields("consumer key " + strings.Repeat("8", 32) + " consumer secret known"); !slices.Equal(printed, want) {
		t.Errorf("add-consumer prints %q, want %q", printed, want)
	}
	printed = strings.Fields(commands.mustRun(t, "credentials", "add-token", consumer, strings.Repeat("8", 32), "--customer", "2", "--token", strings.Repeat("7", 32), "--secret", "known"))
	if want := strings.Fields("token " + strings.Repeat("7", 32) + " token secret known"); !slices.Equal(printed, want) {
		t.Errorf("add-token prints %q, want %q", printed, want)
	}
	var listed []printedConsumer
	parse(t, commands.mustRun(t, "credentials", "list", "--json"), &listed)
	last := listed[len(listed)-1]
	if last.Name != "ERP" || last.Secret != "" || len(last.Tokens) != 1 || last.Tokens[0].CustomerID != 2 || last.Tokens[0].Revoked || last.Tokens[0].Secret != "" {
		t.Errorf("list shows %+v", last)
	}
}

// TestSecretKey runs one store with a key, without it and with another key.
func TestSecretKey(t *testing.T) {
	const unencrypted = "stored unencrypted: set auth.secret_key"
	t.Run("none", func(t *testing.T) {
		path, commands := newStore(t, "")
		_, warned, err := commands.run(t, "seed", "--dataset", writeDataset(t, nil))
		if err != nil || !strings.Contains(warned, unencrypted) {
			t.Errorf("seed warns %q (%v)", warned, err)
		}
		_, warned, err = commands.run(t, "credentials", "add-consumer", "--name", "x")
		if err != nil || !strings.Contains(warned, unencrypted) {
			t.Errorf("add-consumer warns %q (%v)", warned, err)
		}
		if !strings.Contains(databaseBytes(t, path), ownTokenSecret) {
			t.Error("the secret is not in the file: the tests with a key prove nothing")
		}
		p := start(t, commands)
		p.stop(t)
		if said := p.stderr.text(); !strings.Contains(said, unencrypted) {
			t.Errorf("serve logs\n%s", said)
		}
	})
	t.Run("another", func(t *testing.T) {
		path, commands := newStore(t, secretKey)
		commands.mustRun(t, "seed", "--dataset", writeDataset(t, nil))
		for name, key := range map[string]string{"wrong": strings.Repeat("77", 32), "missing": ""} {
			commands := commands.with("PORTICO_AUTH_SECRET_KEY=" + key)
			for _, arguments := range [][]string{
				{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"},
				{"credentials", "add-consumer", "--name", "x"},
				{"credentials", "add-token", "--consumer", ownKey, "--admin", "1"},
			} {
				_, _, err := commands.run(t, arguments...)
				if err == nil || !strings.Contains(err.Error(), "secret key") || !strings.Contains(err.Error(), "PORTICO_AUTH_SECRET_KEY") {
					t.Errorf("%s key, %v: %v", name, arguments, err)
				}
				if err != nil && (strings.Contains(err.Error(), ownSecret) || key != "" && strings.Contains(err.Error(), key)) {
					t.Errorf("the message shows a secret: %v", err)
				}
			}
			if _, _, err := commands.run(t, "credentials", "revoke", ownToken); err != nil {
				t.Errorf("%s key: a token cannot be revoked: %v", name, err)
			}
		}
		if strings.Contains(databaseBytes(t, path), ownTokenSecret) {
			t.Error("the secret is stored unencrypted")
		}
	})
}
