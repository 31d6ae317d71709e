package app

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	stored "github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
)

// adminHash returns the password hash of an administrator.
func adminHash(t *testing.T, path, username string) string {
	t.Helper()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: "sqlite:" + path, SecretKey: apptest.SecretKey})
	defer func() { _ = db.Close() }()
	store, err := db.Adapter().Store(adapter.Admins)
	if err != nil {
		t.Fatal(err)
	}
	result, err := store.List(t.Context(), &adapter.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range result.Records {
		if r.Get("username").Text() == username {
			return r.Get("password_hash").Text()
		}
	}
	t.Fatal("there is no", username)
	return ""
}

// fileWith returns an open file with the given text.
func fileWith(t *testing.T, text string) *os.File {
	t.Helper()
	file, err := os.Open(apptest.NewFile(t, "file", text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// terminal returns a pseudo-terminal on which text has been typed.
func terminal(t *testing.T, typed string) *os.File {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	screen, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if _, err := keyboard.WriteString(typed); err != nil {
		t.Fatal(err)
	}
	return screen
}

// TestAddAdmin adds an administrator with passwords from a terminal and from files, and
// checks the errors.
func TestAddAdmin(t *testing.T) {
	t.Parallel()
	path, commands := apptest.NewStore(t, apptest.SecretKey)
	add := func(in *os.File, flags ...string) (stdout, stderr string, err error) {
		t.Helper()
		return commands.RunWith(t, in, apptest.WaitTimeout, append([]string{"credentials", "add-admin", "--username", "erp"}, flags...)...)
	}
	for _, c := range []struct {
		name, want string
		in         *os.File
		flags      []string
	}{
		{"no terminal", "no terminal", fileWith(t, "typed too early\n"), nil},
		{"another one the second time", "the two passwords differ", terminal(t, "first password\nsecond password\n"), nil},
		{"too short", "at least 8 characters", terminal(t, "1234567\n1234567\n"), nil},
		{"too short in characters", "at least 8 characters", fileWith(t, "ääää"), []string{"--password-file", "-"}},
		{"an empty file", "at least 8 characters", fileWith(t, ""), []string{"--password-file", "-"}},
		{"a long file", "longer than", fileWith(t, strings.Repeat("x", 5000)), []string{"--password-file", "-"}},
		{"no file", "no such file", fileWith(t, ""), []string{"--password-file", "nowhere"}},
		{"a new password for nobody", "no administrator of that name", fileWith(t, "a good one"), []string{"--password-file", "-", "--replace"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := add(c.in, c.flags...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	stdout, stderr, err := add(terminal(t, "typed password\ntyped password\n"))
	if err != nil || !strings.Contains(stdout, "erp") || strings.Contains(stdout+stderr, "typed") {
		t.Errorf("%q, %q, %v", stdout, stderr, err)
	}
	if ok, _ := adapter.VerifyPassword(adminHash(t, path, "erp"), "typed password"); !ok {
		t.Error("the typed password does not verify")
	}
	if _, _, err := add(fileWith(t, "another one\r\n"), "--password-file", "-"); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("%v, want a word about --replace", err)
	}
	if stdout, _, err := add(fileWith(t, "another one\r\n"), "--password-file", "-", "--replace", "--json"); err != nil || !strings.Contains(stdout, `"username": "erp"`) {
		t.Errorf("%s, %v", stdout, err)
	}
	if ok, _ := adapter.VerifyPassword(adminHash(t, path, "erp"), "another one"); !ok {
		t.Error("the new password does not verify")
	}
	if listed := commands.MustRun(t, "credentials", "list", "admins"); !strings.Contains(listed, "erp") || !strings.Contains(listed, "true") || strings.Contains(listed, "$2") {
		t.Errorf("list shows\n%s", listed)
	}
}

// TestAPIKeyCommands adds, lists and revokes API keys, and checks the errors.
func TestAPIKeyCommands(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	var admin, customer credentials.PrintedKey
	apptest.Parse(t, commands.MustRun(t, "credentials", "add-key", "--name", "probe", "--admin", "--json"), &admin)
	apptest.Parse(t, commands.MustRun(t, "credentials", "add-key", "--name", "app", "--customer", "2", "--json"), &customer)
	if admin.Key == "" || admin.CustomerID != 0 || customer.Key == admin.Key || customer.CustomerID != 2 {
		t.Errorf("%+v, %+v", admin, customer)
	}
	if text := commands.MustRun(t, "credentials", "add-key", "--name", "text", "--admin"); !strings.Contains(text, "key") {
		t.Errorf("prints\n%s", text)
	}
	if printed := commands.MustRun(t, "credentials", "revoke", "--key", fmt.Sprint(customer.ID)); printed != "revoked\n" {
		t.Errorf("revoke prints %q", printed)
	}
	var keys []credentials.PrintedKey
	apptest.Parse(t, commands.MustRun(t, "credentials", "list", "keys", "--json"), &keys)
	if len(keys) != 3 || keys[0].Kind != "admin" || keys[1].Kind != "customer" || keys[0].Revoked || !keys[1].Revoked || keys[0].Key != "" || keys[1].Name != "app" {
		t.Errorf("list shows %+v", keys)
	}
	for _, c := range []struct {
		name, want string
		arguments  []string
	}{
		{"for nobody", "admin customer", []string{"add-key", "--name", "x"}},
		{"for two", "admin customer", []string{"add-key", "--name", "x", "--admin", "--customer", "1"}},
		{"of a customer and an administrator", "username customer", []string{"add-key", "--name", "x", "--username", "a", "--customer", "1"}},
		{"of an unknown administrator", "no such administrator", []string{"add-key", "--name", "x", "--admin", "--username", "nobody"}},
		{"for an unknown customer", "no such customer", []string{"add-key", "--name", "x", "--customer", "99"}},
		{"for customer zero", "must be positive", []string{"add-key", "--name", "x", "--customer", "0"}},
		{"revoke an unknown key", "no such key", []string{"revoke", "--key", "99"}},
		{"revoke a key and a token", "one at a time", []string{"revoke", "--key", "1", apptest.DatasetToken}},
		{"list what there is not", "invalid argument", []string{"list", "secrets"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := commands.Run(t, append([]string{"credentials"}, c.arguments...)...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestDisableAdminCommands checks that a server refuses all credentials of a disabled
// administrator.
func TestDisableAdminCommands(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	commands.AddAdmin(t, "erp")
	var admins []credentials.PrintedAdmin
	list := func() credentials.PrintedAdmin {
		t.Helper()
		apptest.Parse(t, commands.MustRun(t, "credentials", "list", "admins", "--json"), &admins)
		return admins[len(admins)-1]
	}
	erp := list()
	consumer := commands.AddConsumer(t, "ERP")
	token := commands.AddToken(t, consumer.Key, "--admin", fmt.Sprint(erp.ID))
	var key credentials.PrintedKey
	apptest.Parse(t, commands.MustRun(t, "credentials", "add-key", "--name", "probe", "--admin", "--username", "ERP", "--json"), &key)
	if key.AdminID != erp.ID || !erp.LogsIn || erp.Disabled {
		t.Fatalf("%+v, %+v", key, erp)
	}
	calls := map[string]string{
		"token": apptest.PlaintextHeader(consumer.Key, consumer.Secret, token.Token, token.Secret),
		"key":   "Bearer " + key.Key,
	}
	check := func(want int) {
		t.Helper()
		p := apptest.Start(t, commands.With("PORTICO_AUTH_BEARER=true"))
		defer p.Stop(t)
		for name, authorization := range calls {
			if got := apptest.Send(t, "GET", p.Contract+"/api/rest/customers", "", "Accept", "application/json", "Authorization", authorization); got.Status != want {
				t.Errorf("with the %s: %d %s, want %d", name, got.Status, got.Body, want)
			}
		}
	}
	check(http.StatusOK)
	if printed := commands.MustRun(t, "credentials", "disable-admin", "--username", "erp"); !strings.Contains(printed, "tokens revoked    1\nAPI keys revoked  1\n") {
		t.Errorf("prints\n%s", printed)
	}
	if erp := list(); erp.LogsIn || !erp.Disabled {
		t.Errorf("%+v", erp)
	}
	check(http.StatusUnauthorized)
	if _, _, err := commands.Run(t, "credentials", "add-token", "--consumer", consumer.Key, "--admin", fmt.Sprint(erp.ID)); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("a new token: %v", err)
	}
	commands.MustRun(t, "credentials", "enable-admin", "--username", "erp")
	if erp := list(); !erp.LogsIn || erp.Disabled {
		t.Errorf("%+v", erp)
	}
	for _, command := range []string{"disable-admin", "enable-admin"} {
		if _, _, err := commands.Run(t, "credentials", command, "--username", "nobody"); err == nil || !strings.Contains(err.Error(), "no such administrator") {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// TestConsumerCommands adds, lists and removes consumers with their tokens.
func TestConsumerCommands(t *testing.T) {
	t.Parallel()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	var consumer credentials.PrintedConsumer
	apptest.Parse(t, commands.MustRun(t, "credentials", "add-consumer", "--name", "ERP", "--callback", "https://erp.example/back?a=1", "--rejected-callback", "http://erp.example:8080/no", "--json"), &consumer)
	commands.AddAdmin(t, "first")
	commands.AddAdmin(t, "erp")
	commands.AddToken(t, consumer.Key, "--username", "erp")
	if _, _, err := commands.Run(t, "credentials", "add-token", "--consumer", consumer.Key, "--username", "nobody"); err == nil || !strings.Contains(err.Error(), "no such administrator") {
		t.Errorf("a token of nobody: %v", err)
	}
	if printed := strings.Join(strings.Fields(commands.MustRun(t, "credentials", "list")), " "); !strings.Contains(printed, " admin 2 ") || !strings.Contains(printed, " 2 erp true false (everything)") {
		t.Errorf("list prints\n%s", printed)
	}
	var listed []credentials.PrintedConsumer
	apptest.Parse(t, commands.MustRun(t, "credentials", "list", "consumers", "--json"), &listed)
	if len(listed) != 1 || listed[0].Callback != "https://erp.example/back?a=1" || listed[0].RejectedCallback != "http://erp.example:8080/no" || len(listed[0].Tokens) != 1 {
		t.Errorf("%+v", listed)
	}
	for _, callback := range []string{"oob", "javascript:alert(1)", "//erp.example/", "https://"} {
		if _, _, err := commands.Run(t, "credentials", "add-consumer", "--name", "x", "--callback", callback); err == nil || !strings.Contains(err.Error(), "absolute URL") {
			t.Errorf("%s: %v, want it refused", callback, err)
		}
	}
	if printed := commands.MustRun(t, "credentials", "revoke", "--consumer", strings.ToUpper(consumer.Key)); printed != "removed, with 1 tokens\n" {
		t.Errorf("revoke prints %q", printed)
	}
	if _, _, err := commands.Run(t, "credentials", "revoke", "--consumer", consumer.Key); err == nil || !strings.Contains(err.Error(), "no such consumer") {
		t.Errorf("again: %v", err)
	}
	if printed := commands.MustRun(t, "credentials", "list", "--json"); strings.TrimSpace(printed) != "[]" {
		t.Errorf("list shows %s", printed)
	}
}

// TestRekeyCommand encrypts the secrets of an unencrypted store under a key, and then
// under another one.
func TestRekeyCommand(t *testing.T) {
	t.Parallel()
	path, commands := apptest.NewStore(t, "")
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, map[string]any{"credentials": nil}))
	consumer := commands.AddConsumer(t, "ERP")
	token := commands.AddToken(t, consumer.Key, "--admin", "1")
	if !strings.Contains(apptest.DatabaseBytes(t, path), token.Secret) {
		t.Fatal("the secret is not in the file: the search below proves nothing")
	}
	if _, _, err := commands.Run(t, "credentials", "rekey"); err == nil || !strings.Contains(err.Error(), "set auth.secret_key") {
		t.Errorf("without a key: %v", err)
	}
	commands = commands.With("PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey)
	var done stored.RekeyReport
	apptest.Parse(t, commands.MustRun(t, "credentials", "rekey", "--json"), &done)
	if done != (stored.RekeyReport{Sealed: 2}) {
		t.Errorf("%+v", done)
	}
	another := strings.Repeat("ab", 32)
	commands = commands.With("PORTICO_AUTH_SECRET_KEY=" + another)
	if _, _, err := commands.Run(t, "credentials", "rekey"); err == nil || !strings.Contains(err.Error(), "nothing is changed") {
		t.Errorf("without the old key: %v", err)
	}
	if _, _, err := commands.Run(t, "credentials", "add-consumer", "--name", "x"); err == nil {
		t.Error("the new key counts before its time")
	}
	if printed, _, err := commands.RunWith(t, fileWith(t, apptest.SecretKey+"\n"), apptest.WaitTimeout, "credentials", "rekey", "--old-key-file", "-"); err != nil || !strings.HasPrefix(printed, "encrypted              2\n") {
		t.Errorf("%q, %v", printed, err)
	}
	if _, _, err := commands.RunWith(t, fileWith(t, "a phrase"), apptest.WaitTimeout, "credentials", "rekey", "--old-key-file", "-"); err == nil || !strings.Contains(err.Error(), "64 hexadecimal digits") {
		t.Errorf("a phrase for a key: %v", err)
	}
	p := apptest.Start(t, commands)
	got := apptest.Send(t, "GET", p.Contract+"/api/rest/customers", "", "Accept", "application/json", "Authorization", apptest.PlaintextHeader(consumer.Key, consumer.Secret, token.Token, token.Secret))
	if got.Status != http.StatusOK {
		t.Errorf("with the new key: %d %s", got.Status, got.Body)
	}
	p.Stop(t)
}

// TestListsOnTerminals lists names of a hostile store: a terminal must not obey them, and no name
// may look like another row or another name.
func TestListsOnTerminals(t *testing.T) {
	t.Parallel()
	const name = "A\x1b]0;x\x07\x1b[2J\nshop  ffffffffffffffffffffffffffffffff  -\u202e\u200b\u009b"
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.AddConsumer(t, name)
	commands.AddAdmin(t, name)
	commands.MustRun(t, "credentials", "add-key", "--name", name, "--admin")
	for _, kind := range []string{"consumers", "keys", "admins"} {
		listed := commands.MustRun(t, "credentials", "list", kind)
		if strings.Count(listed, "\n") != 2 || strings.ContainsFunc(listed, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%s:\n%q", kind, listed)
		}
	}
}
