//go:build linux

package app

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/doctor"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config/testenv"
)

// runDoctor runs "portico doctor --json" on free ports.
func runDoctor(t *testing.T, c apptest.Environment, arguments ...string) *doctor.Report {
	t.Helper()
	anyPort := apptest.Environment{"PORTICO_LISTEN=127.0.0.1:0", "PORTICO_OPS_LISTEN=127.0.0.1:0"}
	stdout, stderr, err := anyPort.With(c...).Run(t, append([]string{"doctor", "--json"}, arguments...)...)
	r := &doctor.Report{}
	if json.Unmarshal([]byte(stdout), r) != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	if want := r.Level == doctor.Fault; want != (err != nil) || apptest.ExitCode(err) == program.ExitCannotRun {
		t.Errorf("level %s, and the command ends with %v", r.Level, err)
	}
	if strings.Contains(stdout+stderr+fmt.Sprint(err), "swordfish") {
		t.Errorf("the report has a secret:\n%s%s%v", stdout, stderr, err)
	}
	return r
}

// requireFinding fails the test unless check has a finding of the given level (severity) that
// contains text.
func requireFinding(t *testing.T, r *doctor.Report, check string, level doctor.Level, text string) {
	t.Helper()
	found := slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
		return f.Check == check && f.Level == level && strings.Contains(f.Found+" "+f.Advice, text)
	})
	if !found {
		t.Errorf("no %s of %s that says %q in\n%+v", level, check, text, r.Findings)
	}
}

// demoStore returns a console for a store with the records and credentials of the demo store, and
// the path of its file.
func demoStore(t *testing.T) (apptest.Environment, string) {
	t.Helper()
	dsn := demotest.SQLite(t)
	return apptest.Environment{"PORTICO_SQL_DSN=" + dsn}, engine.File(dsn)
}

// TestDoctorGood examines a good configuration, with a database, Redis and a legacy store, and
// compares the whole text.
func TestDoctorGood(t *testing.T) {
	t.Parallel()
	redis := apptest.NewRedis(t)
	redis.Command("CONFIG SET maxmemory 64mb")
	redis.Command("CONFIG SET maxmemory-policy allkeys-lru")
	shop := newShop(t, time.Now, http.StatusOK, "application/json", `{"1":{"entity_id":"1"}}`)
	folder := t.TempDir()
	file := filepath.Join(folder, "portico.yaml")
	text := "legacy: {url: '" + shop + "'}\nauth: {secret_key: " + apptest.SecretKey + "}\nops: {token: a-token-for-operators}\ntrusted_proxies: 10.0.0.0/8\n"
	apptest.WriteFile(t, file, text)
	commands := apptest.Environment{"PORTICO_SQL_DSN=" + demotest.Postgres(t), "PORTICO_SQL_MEDIA_DIR=" + filepath.Join(folder, "media"), "PORTICO_CACHE_REDIS_URL=" + redis.URL()}.With(
		"PORTICO_CONFIG="+file, "PORTICO_LISTEN=127.0.0.1:0", "PORTICO_OPS_LISTEN=127.0.0.1:0", "PORTICO_LISTS_SPOOL_DIR="+folder, "PORTICO_LISTS_SPOOL_BYTES=1MiB", "PORTICO_SERVER_MAX_CONNECTIONS=100",
		"PORTICO_SQL_WRITE_CONNECTIONS=4", "PORTICO_SQL_READ_CONNECTIONS=8")
	commands.MustRun(t, "credentials", "revoke", "--consumer", demotest.Data(t).Consumer.Key)
	got := commands.MustRun(t, "doctor", "--strict")
	for _, replaced := range [][2]string{
		{regexp.QuoteMeta(folder), "FOLDER"}, {`127\.0\.0\.1:\d\d+`, "127.0.0.1:PORT"}, {`/test_[\d_]+`, "/TEST"}, {`(PostgreSQL|Redis) [\d.]+`, "$1 VERSION"},
		{`[\d.]+ GiB`, "SIZE"}, {`\d+ are allowed`, "NUMBER are allowed"}, {`\d+ differ`, "NUMBER differ"}, {`this (container|machine)\n`, "this machine\n"},
	} {
		got = regexp.MustCompile(replaced[0]).ReplaceAllString(got, replaced[1])
	}
	if diff := cmp.Diff(`Configuration
  ok           settings            valid, from FOLDER/portico.yaml; NUMBER differ from their defaults
  ok           secret files        FOLDER/portico.yaml: closed to other users
  ok           trusted proxies     1 plausible networks

Ports
  ok           contract port       127.0.0.1:0 is free
  ok           operators' port     127.0.0.1:0 is free; asks for ops.token

Database
  ok           server              PostgreSQL VERSION at postgres:127.0.0.1:PORT/TEST
  ok           migrations          all made
  ok           rights              the user may write and change tables
  ok           database clock      as this machine's; timestamps of signed calls may be 10m0s ahead
  ok           connections         one replica opens at most 12 (--replicas counts more); the server accepts 597
  ok           records             the store has records
  ok           secret key          set, and decrypts the secrets of consumers
  ok           administrators      no token acts for an administrator
  ok           demo credentials    not in the store

Folders
  ok           images              FOLDER/media can be written to, and has SIZE free
  ok           temporary files     FOLDER can be written to, and has SIZE free

Redis
  ok           Redis               Redis VERSION at 127.0.0.1:PORT
  ok           Redis memory        at most 64.00M, policy allkeys-lru
  ok           Redis clock         as this machine's; timestamps of signed calls may be 10m0s ahead

Legacy store
  ok           legacy store        answers calls of the interface (as a Guest: 200)
  ok           legacy store clock  as this machine's; timestamps of signed calls may be 10m0s ahead

Machine
  ok           open files          NUMBER are allowed, and at most about 584 are needed
  ok           memory              the settings let Portico take about 256.0 MiB of SIZE of this machine

Not used: certificate, legacy store credentials, followed database, rights in the legacy store, settings of the legacy store, backend

no faults, no warnings
`, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDoctorChangesNothing examines a store that does not exist, and one that does.
func TestDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	r := runDoctor(t, apptest.Environment{"PORTICO_SQL_DSN=sqlite:" + filepath.Join(folder, "new.db")})
	requireFinding(t, r, "server", doctor.OK, "does not exist yet: portico serve creates it")
	requireFinding(t, r, "images", doctor.OK, "does not exist yet: portico serve creates it")
	if entries, err := os.ReadDir(folder); len(entries) > 0 || err != nil {
		t.Errorf("the folder now has %v, %v", entries, err)
	}
	commands, path := demoStore(t)
	before := apptest.DatabaseBytes(t, path)
	runDoctor(t, commands)
	if apptest.DatabaseBytes(t, path) != before {
		t.Error("the database has changed")
	}
}

// TestDoctorExitCodes checks the exit codes as users see them.
func TestDoctorExitCodes(t *testing.T) {
	t.Parallel()
	commands, _ := demoStore(t) // which has warnings
	commands = commands.With("PORTICO_LISTEN=127.0.0.1:0", "PORTICO_OPS_LISTEN=127.0.0.1:0")
	for _, tt := range []struct {
		name      string
		arguments []string
		want      string
		misuse    bool
	}{
		{"warnings", nil, "", false},
		{"strict", []string{"--strict"}, "no faults, 2 warnings", false},
		{"faults", []string{"--listen", "192.0.2.1:1"}, "2 faults, 1 warning", false},
		{"an unknown flag", []string{"--fix"}, "unknown flag", true},
		{"an argument", []string{"database"}, "unknown command", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := commands.Run(t, append([]string{"doctor"}, tt.arguments...)...)
			if (err != nil) != (tt.want != "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) || (apptest.ExitCode(err) == program.ExitCannotRun) != tt.misuse {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestDoctorConfiguration examines configurations with faults.
func TestDoctorConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "portico.yaml")
	if err := os.WriteFile(file, []byte("lisen: 127.0.0.1:8080\ndialect: latin\nauth: {secret_key: swordfish}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Run("all faults at once", func(t *testing.T) {
		r := runDoctor(t, apptest.Environment{}, "--config", file)
		requireFinding(t, r, "settings", doctor.Fault, "did you mean listen?")
		requireFinding(t, r, "settings", doctor.Fault, "dialect: \"latin\" must be")
		requireFinding(t, r, "settings", doctor.Fault, "auth.secret_key: value must")
		if r.Faults != 3 || len(r.Findings) != 3 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("no such file", func(t *testing.T) {
		requireFinding(t, runDoctor(t, apptest.Environment{}, "--config", file+"x"), "settings", doctor.Fault, "no such file")
	})
	commands, _ := demoStore(t)
	secret := filepath.Join(t.TempDir(), "ops.token")
	if err := os.WriteFile(secret, []byte("swordfish-swordfish\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, setting string
		check         string
		level         doctor.Level
		want          string
	}{
		{"a secret for all to read", "OPS_TOKEN_FILE=" + secret, "secret files", doctor.Warning, "Run: chmod o= " + secret},
		{"everyone trusted", "TRUSTED_PROXIES=10.0.0.1,0.0.0.0/0", "trusted proxies", doctor.Warning, "0.0.0.0/0: X-Forwarded-For and its like are trusted from everyone"},
		{"too many trusted", "TRUSTED_PROXIES=2000::/3", "trusted proxies", doctor.Warning, "a large part of the public Internet"},
		{"no proxy trusted", "PUBLIC_URL=https://shop.example", "trusted proxies", doctor.Warning, "its X-Forwarded headers are ignored"},
		{"no image folder", "SQL_MEDIA_DIR=/nowhere/at/all", "images", doctor.Fault, "no such file"},
		{"read-only image folder", "SQL_MEDIA_DIR=/proc", "images", doctor.Fault, "/proc cannot be written to"}, // by root neither
		{"read-only spool folder", "LISTS_SPOOL_DIR=/proc", "temporary files", doctor.Fault, "lists.spool_dir"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			requireFinding(t, runDoctor(t, commands.With("PORTICO_"+tt.setting)), tt.check, tt.level, tt.want)
		})
	}
}

// TestDoctorPorts examines ports in use by other programs and by Portico.
func TestDoctorPorts(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	contract, ops := testenv.FreeAddress(t), testenv.FreeAddress(t)
	p := apptest.Launch(t, []string{"PORTICO_OPS_TOKEN=" + apptest.OpsToken}, "--demo", "--listen", contract, "--ops-listen", ops)
	p.AwaitAddresses(t, true)
	for _, tt := range []struct {
		name, listen, ops, token string
		check                    string
		level                    doctor.Level
		want                     string
	}{
		{"running Portico", contract, ops, apptest.OpsToken, "contract port", doctor.OK, "in use by the running Portico"},
		{"its operators' port", contract, ops, apptest.OpsToken, "operators' port", doctor.OK, "in use by the running Portico; asks for ops.token"},
		{"another token", contract, ops, apptest.OpsToken + "x", "operators' port", doctor.Warning, "wants another ops.token"},
		{"another program", other.Addr().String(), testenv.FreeAddress(t), "", "contract port", doctor.Fault, "in use by another program"},
		{"another program beside Portico", other.Addr().String(), ops, apptest.OpsToken, "contract port", doctor.Fault, "in use by another program: the Portico at ops.listen listens on " + contract},
		{"another machine", "192.0.2.1:80", "127.0.0.1:0", "", "contract port", doctor.Fault, "Set listen to an address of this machine"},
		{"a port without a token", "127.0.0.1:0", "127.0.0.1:0", "", "operators' port", doctor.OK, "open to all users of this machine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			commands, _ := demoStore(t)
			r := runDoctor(t, commands.With("PORTICO_LISTEN="+tt.listen, "PORTICO_OPS_LISTEN="+tt.ops, "PORTICO_OPS_TOKEN="+tt.token))
			requireFinding(t, r, tt.check, tt.level, tt.want)
		})
	}
}

// TestDoctorCertificate examines certificates of the contract's port.
func TestDoctorCertificate(t *testing.T) {
	t.Parallel()
	long, short, past := apptest.NewKeyPair(t, 2000), apptest.NewKeyPair(t, 24), apptest.NewKeyPairUntil(t, 1, time.Now().Add(-time.Hour))
	commands, _ := demoStore(t)
	for _, tt := range []struct {
		name, publicURL string
		pair            apptest.KeyPair
		level           doctor.Level
		want            string
	}{
		{"good", "https://127.0.0.1", long, doctor.OK, "valid for 83 more days"},
		{"no public URL", "", long, doctor.OK, "valid for 83 more days"},
		{"ends soon", "", short, doctor.Warning, "valid for 0 more days"},
		{"expired", "", past, doctor.Fault, "expired on"},
		{"another name", "https://shop.example", long, doctor.Warning, "is not for shop.example"},
		{"another key", "", apptest.KeyPair{Cert: long.Cert, Key: short.Key}, doctor.Fault, "private key does not match public key"},
		{"no key", "", apptest.KeyPair{Cert: long.Cert, Key: nil}, doctor.Fault, "set server.tls_cert"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := commands.With(apptest.NewKeyFolder(t, tt.pair).Environ()...).With("PORTICO_PUBLIC_URL=" + tt.publicURL)
			requireFinding(t, runDoctor(t, c), "certificate", tt.level, tt.want)
		})
	}
}
