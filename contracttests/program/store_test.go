package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOwnStore fills a store, creates credentials, calls it in all dialects across
// restarts, and revokes a token.
func TestOwnStore(t *testing.T) {
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	dataset := apptest.WriteDataset(t, nil)
	if got := commands.MustRun(t, "seed", "--dataset", dataset); !strings.HasSuffix(got, " records stored\n") || strings.HasPrefix(got, "0 ") {
		t.Errorf("seed prints %q", got)
	}
	if _, _, err := commands.Run(t, "seed", "--dataset", dataset); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("a store with data is filled again: %v", err)
	}

	consumer := commands.AddConsumer(t, "ERP")
	admin := commands.AddToken(t, consumer.Key, "--admin", "1")
	customer := commands.AddToken(t, strings.ToUpper(consumer.Key), "--customer", "1")
	secrets := []string{consumer.Secret, admin.Secret, customer.Secret, apptest.DatasetSecret, apptest.DatasetTokenSecret}
	for _, secret := range secrets {
		if len(secret) != 32 || strings.Contains(apptest.DatabaseBytes(t, path), secret) {
			t.Errorf("the secret %q is stored unencrypted", secret)
		}
	}
	if !strings.Contains(apptest.DatabaseBytes(t, path), admin.Token) {
		t.Error("the token is not in the file: the search above proves nothing")
	}
	for _, arguments := range [][]string{{"credentials", "list"}, {"credentials", "list", "--json"}} {
		listed := commands.MustRun(t, arguments...)
		for _, secret := range secrets {
			if strings.Contains(listed, secret) {
				t.Errorf("%v shows a secret:\n%s", arguments, listed)
			}
		}
		for _, shown := range []string{"ERP", consumer.Key, admin.Token, customer.Token, apptest.DatasetKey, apptest.DatasetToken} {
			if !strings.Contains(listed, shown) {
				t.Errorf("%v does not show %s:\n%s", arguments, shown, listed)
			}
		}
	}

	asAdmin := apptest.PlaintextHeader(consumer.Key, consumer.Secret, admin.Token, admin.Secret)
	asCustomer := apptest.PlaintextHeader(consumer.Key, consumer.Secret, customer.Token, customer.Secret)
	p := apptest.Start(t, commands)
	if said := p.Stdout.Text(); strings.Contains(said, "curl") || strings.Contains(said, "Demo") {
		t.Errorf("a store that is no demo announces\n%s", said)
	}
	item := p.Contract + "/api/rest/stockitems/1"
	if got := apptest.Send(t, "PUT", item, `{"qty":"42.5"}`, "Content-Type", "application/json", "Authorization", asAdmin); got.Status != http.StatusOK {
		t.Errorf("update: %d %s", got.Status, got.Body)
	}
	if got := apptest.StockQty(t, p.Contract, apptest.PlaintextHeader(apptest.DatasetKey, apptest.DatasetSecret, apptest.DatasetToken, apptest.DatasetTokenSecret)); got != "42.5000" {
		t.Errorf("by the data set's own credentials there are %s", got)
	}
	if got := apptest.Send(t, "GET", item, "", "Authorization", asCustomer, "Accept", "application/json"); got.Status != http.StatusForbidden {
		t.Errorf("a customer gets %d %s, want 403", got.Status, got.Body)
	}
	if got := apptest.Send(t, "GET", item, "", "Authorization", apptest.DemoAdmin(), "Accept", "application/json"); got.Status != http.StatusUnauthorized || !strings.Contains(got.Body, "consumer_key_rejected") {
		t.Errorf("the public credentials get %d %s, want 401", got.Status, got.Body)
	}
	if got := apptest.Send(t, "POST", p.Ops+"/demo/reset", ""); got.Status != http.StatusNotFound {
		t.Errorf("a reset of a store that is no demo: %d", got.Status)
	}
	p.Stop(t)
	if said := p.Stderr.Text(); strings.Contains(said, "unencrypted") {
		t.Errorf("a warning in spite of the key:\n%s", said)
	}

	p = apptest.Start(t, commands, "--dialect", "magento")
	if got := apptest.StockQty(t, p.Contract, asAdmin); got != "42.5000" {
		t.Errorf("after a restart there are %s", got)
	}
	p.Stop(t)

	if got := commands.MustRun(t, "credentials", "revoke", strings.ToUpper(admin.Token)); got != "revoked\n" {
		t.Errorf("revoke prints %q", got)
	}
	p = apptest.Start(t, commands)
	got := apptest.Send(t, "GET", p.Contract+"/api/rest/stockitems/1", "", "Authorization", asAdmin, "Accept", "application/json")
	if got.Status != http.StatusUnauthorized || !strings.Contains(got.Body, "oauth_problem=token_revoked") {
		t.Errorf("the revoked token gets %d %s", got.Status, got.Body)
	}
	p.Stop(t)

	commands.MustRun(t, "seed", "--dataset", dataset, "--replace")
	if listed := commands.MustRun(t, "credentials", "list"); strings.Contains(listed, "ERP") || !strings.Contains(listed, apptest.DatasetKey) {
		t.Errorf("--replace leaves\n%s", listed)
	}
}

// TestSeedRefuses checks that data sets with faults are refused and leave the store
// unchanged.
func TestSeedRefuses(t *testing.T) {
	public := func(token, secret string) map[string]any {
		return map[string]any{"credentials": map[string]any{
			"consumer": map[string]any{"key": apptest.DatasetKey, "secret": apptest.DatasetSecret},
			"admin":    map[string]any{"token": token, "secret": secret, "admin_id": 1},
		}}
	}
	const isPublic = "public credentials"
	tests := []struct {
		name    string
		changes map[string]any
		want    string
	}{
		{"the demo's consumer", map[string]any{"credentials": map[string]any{"consumer": map[string]any{"key": strings.Repeat("a", 32), "secret": apptest.DatasetSecret}}}, isPublic},
		{"the demo's token", public(strings.Repeat("c", 32), apptest.DatasetTokenSecret), isPublic},
		{"the demo's token in capitals", public(strings.Repeat("C", 32), apptest.DatasetTokenSecret), isPublic},
		{"the demo's secret", public(apptest.DatasetToken, strings.Repeat("d", 32)), isPublic},
		{"unknown member", map[string]any{"warehouses": []any{}}, "warehouses"},
		{"unknown field", map[string]any{"websites": []any{map[string]any{"website_id": 1, "code": "base", "name": "Main", "colour": "red"}}}, "colour"},
		{"unknown field of a credential", map[string]any{"credentials": map[string]any{"consumer": map[string]any{"key": apptest.DatasetKey, "secret": apptest.DatasetSecret, "role": "x"}}}, "role"},
		{"stores without websites", map[string]any{"websites": nil}, "websites 1 does not exist"},
		{"token too short", public("5", apptest.DatasetTokenSecret), "32 characters"},
	}
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, _, err := commands.Run(t, "seed", "--dataset", apptest.WriteDataset(t, tt.changes))
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
			file := apptest.NewFile(t, "dataset.json", content)
			if _, _, err := commands.Run(t, "seed", "--dataset", file); err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("got %v, want a message with the file's name", err)
			}
		})
	}
	if _, _, err := commands.Run(t, "seed", "--dataset", filepath.Join(t.TempDir(), "missing.json")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing file: %v", err)
	}

	// All of them left the store empty, so a good data set needs no --replace.
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	before := apptest.DatabaseBytes(t, path)
	if _, _, err := commands.Run(t, "seed", "--replace", "--dataset", apptest.WriteDataset(t, map[string]any{"websites": nil})); err == nil {
		t.Error("--replace takes a broken data set")
	}
	if listed := commands.MustRun(t, "credentials", "list"); !strings.Contains(listed, apptest.DatasetToken) || !strings.Contains(before, apptest.DatasetToken) {
		t.Errorf("a failed --replace leaves\n%s", listed)
	}
}

// TestSeedNothing checks that a data set without lists changes nothing, and that a server
// explains how to fill an empty store.
func TestSeedNothing(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "store.json")
	apptest.WriteFile(t, file, `{"$comment": "later"}`)
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	for _, arguments := range []string{"seed --dataset " + file, "seed --replace --dataset " + file} {
		if got := commands.MustRun(t, strings.Fields(arguments)...); got != "nothing to store: the data set has no lists\n" {
			t.Errorf("%s prints %q", arguments, got)
		}
	}
	p := apptest.Start(t, commands)
	p.Stop(t)
	if said := p.Stderr.Text(); strings.Count(said, "portico seed or portico import, or try portico serve --demo") != 1 {
		t.Errorf("a server of an empty store logs\n%s", said)
	}
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	p = apptest.Start(t, commands)
	p.Stop(t)
	if said := p.Stderr.Text(); strings.Contains(said, "portico seed") {
		t.Errorf("a server of a filled store logs\n%s", said)
	}
}

// TestCredentialsCommands checks the errors and output of the credentials commands.
func TestCredentialsCommands(t *testing.T) {
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	const consumer = "--consumer"
	tests := []struct {
		name      string
		arguments []string
		want      string // of the message
	}{
		{"consumer there already", []string{"add-consumer", "--name", "x", "--key", apptest.DatasetKey}, "exists already"},
		{"consumer there in capitals", []string{"add-consumer", "--name", "x", "--key", strings.ToUpper(strings.Repeat("3", 32))}, "exists already"},
		{"key too short", []string{"add-consumer", "--name", "x", "--key", "3"}, "key: must have 32 characters"},
		{"unknown consumer", []string{"add-token", consumer, strings.Repeat("8", 32), "--admin", "1"}, "no consumer with that key"},
		{"unknown customer", []string{"add-token", consumer, apptest.DatasetKey, "--customer", "99"}, "no such customer"},
		{"unknown administrator", []string{"add-token", consumer, apptest.DatasetKey, "--admin", "99"}, "there is no administrator 99"},
		{"API key for an unknown customer", []string{"add-key", "--name", "x", "--customer", "99"}, "no such customer"},
		{"revoke an unknown key", []string{"revoke", "--key", "99"}, "no such key"},
		{"customer zero", []string{"add-token", consumer, apptest.DatasetKey, "--customer", "0"}, "must be positive"},
		{"administrator zero", []string{"add-token", consumer, apptest.DatasetKey, "--admin", "0"}, "must be positive"},
		{"administrator below zero", []string{"add-token", consumer, apptest.DatasetKey, "--admin", "-1"}, "must be positive"},
		{"no number", []string{"add-token", consumer, apptest.DatasetKey, "--admin", "root"}, "invalid argument"},
		{"token there already", []string{"add-token", consumer, apptest.DatasetKey, "--admin", "1", "--token", apptest.DatasetToken}, "exists already"},
		{"token too short", []string{"add-token", consumer, apptest.DatasetKey, "--admin", "1", "--token", "5"}, "token: must have 32 characters"},
		{"revoke an unknown token", []string{"revoke", strings.Repeat("8", 32)}, "no such token"},
	}
	before := commands.MustRun(t, "credentials", "list")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := commands.Run(t, append([]string{"credentials"}, tt.arguments...)...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if after := commands.MustRun(t, "credentials", "list"); after != before {
		t.Errorf("a refused command changed the store from\n%s\nto\n%s", before, after)
	}

	printed := strings.Fields(commands.MustRun(t, "credentials", "add-consumer", "--name", "ERP", "--key", strings.Repeat("8", 32), "--secret", "known"))
	if want := strings.Fields("consumer key " + strings.Repeat("8", 32) + " consumer secret known"); !slices.Equal(printed, want) {
		t.Errorf("add-consumer prints %q, want %q", printed, want)
	}
	printed = strings.Fields(commands.MustRun(t, "credentials", "add-token", consumer, strings.Repeat("8", 32), "--customer", "2", "--token", strings.Repeat("7", 32), "--secret", "known"))
	if want := strings.Fields("token " + strings.Repeat("7", 32) + " token secret known"); !slices.Equal(printed, want) {
		t.Errorf("add-token prints %q, want %q", printed, want)
	}
	var listed []struct {
		Name, Secret string
		Tokens       []struct {
			Secret     string
			CustomerID int64 `json:"customer_id"`
			Revoked    bool
		}
	}
	apptest.Parse(t, commands.MustRun(t, "credentials", "list", "--json"), &listed)
	last := listed[len(listed)-1]
	if last.Name != "ERP" || last.Secret != "" || len(last.Tokens) != 1 || last.Tokens[0].CustomerID != 2 || last.Tokens[0].Revoked || last.Tokens[0].Secret != "" {
		t.Errorf("list shows %+v", last)
	}
}

// TestSecretKey runs one store with a key, without it and with another key.
func TestSecretKey(t *testing.T) {
	const unencrypted = "stored unencrypted: set auth.secret_key"
	t.Run("none", func(t *testing.T) {
		path, commands := apptest.NewStore(t, "")
		_, warned, err := commands.Run(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
		if err != nil || !strings.Contains(warned, unencrypted) {
			t.Errorf("seed warns %q (%v)", warned, err)
		}
		_, warned, err = commands.Run(t, "credentials", "add-consumer", "--name", "x")
		if err != nil || !strings.Contains(warned, unencrypted) {
			t.Errorf("add-consumer warns %q (%v)", warned, err)
		}
		if !strings.Contains(apptest.DatabaseBytes(t, path), apptest.DatasetTokenSecret) {
			t.Error("the secret is not in the file: the tests with a key prove nothing")
		}
		p := apptest.Start(t, commands)
		p.Stop(t)
		if said := p.Stderr.Text(); !strings.Contains(said, unencrypted) {
			t.Errorf("serve logs\n%s", said)
		}
	})
	t.Run("another", func(t *testing.T) {
		path, commands := apptest.NewStore(t, apptest.SecretKey)
		commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
		for name, key := range map[string]string{"wrong": strings.Repeat("77", 32), "missing": ""} {
			commands := commands.With("PORTICO_AUTH_SECRET_KEY=" + key)
			for _, arguments := range [][]string{
				{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"},
				{"credentials", "add-consumer", "--name", "x"},
				{"credentials", "add-token", "--consumer", apptest.DatasetKey, "--admin", "1"},
			} {
				_, _, err := commands.Run(t, arguments...)
				if err == nil || !strings.Contains(err.Error(), "secret key") || !strings.Contains(err.Error(), "PORTICO_AUTH_SECRET_KEY") {
					t.Errorf("%s key, %v: %v", name, arguments, err)
				}
				if err != nil && (strings.Contains(err.Error(), apptest.DatasetSecret) || key != "" && strings.Contains(err.Error(), key)) {
					t.Errorf("the message shows a secret: %v", err)
				}
			}
			if _, _, err := commands.Run(t, "credentials", "revoke", apptest.DatasetToken); err != nil {
				t.Errorf("%s key: a token cannot be revoked: %v", name, err)
			}
		}
		if strings.Contains(apptest.DatabaseBytes(t, path), apptest.DatasetTokenSecret) {
			t.Error("the secret is stored unencrypted")
		}
	})
}
