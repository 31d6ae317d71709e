package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/auth"
)

// errNoDatabase means that the file of the database has not been created yet.
var errNoDatabase = errors.New("the database does not exist yet")

// openDatabase opens the database without changing it.
func (e *examination) openDatabase(ctx context.Context) (*sqlstore.DB, error) {
	options, err := program.StoreOptions(e.cfg, e.log())
	if err != nil {
		return nil, err
	}
	if path := engine.File(options.DSN); path != "" {
		exists, err := engine.CheckFile(path)
		if err == nil && !exists {
			err = errNoDatabase
		}
		if err != nil {
			return nil, withoutPath(err)
		}
	}
	if options.MediaDir != "" && options.Media == nil {
		options.Media = &media.Folder{Directory: options.MediaDir} // for a MediaDir Open would create the folder
	}
	return sqlstore.Open(ctx, options)
}

// migrates reports whether Portico creates and updates its tables.
func migrates(cfg *config.Config) bool { return cfg.Sections[program.SQLSection]["migrate"] == "auto" }

// checkDatabase checks the database and its server, then its contents.
func (e *examination) checkDatabase(ctx context.Context) []Finding {
	const advice = "Set sql.dsn to the database to use, and see that its server runs and lets this user in."
	db, err := e.openDatabase(ctx)
	if errors.Is(err, errNoDatabase) {
		return one(e.missingDatabase())
	}
	if err != nil {
		return one(failed("", errorText(err), advice))
	}
	defer func() { _ = db.Close() }() // it has only been read
	i, err := db.Inspect(ctx)
	if err != nil {
		return one(failed("", errorText(err), advice))
	}
	findings := []Finding{
		serverFinding(i, engine.Location(e.cfg.Sections[program.SQLSection]["dsn"])), migrationsFinding(i, migrates(e.cfg)), rightsFinding(i, migrates(e.cfg)),
		clockFinding("database clock", i.Ahead, i.RoundTrip/2),
	}
	if i.Capacity > 0 { // of a server
		findings = append(findings, e.connectionsFinding(i))
	}
	for _, step := range []struct {
		check string
		run   func(context.Context, *sqlstore.DB) ([]Finding, error)
	}{
		{"records", e.checkRecords}, {"images", checkImages}, {"secret key", e.checkKey}, {"administrators", checkAdmins}, {"demo credentials", e.checkDemoCredentials},
	} {
		found, err := step.run(ctx, db)
		switch {
		case err != nil && len(i.Pending) > 0:
			found = one(notChecked("", "the tables are made first"))
		case err != nil:
			found = one(failed("", errorText(err), "See the findings about the database."))
		}
		for _, f := range found {
			f.Check = step.check
			findings = append(findings, f)
		}
	}
	return findings
}

// connectionsFinding is the finding about the connections that all replicas open. It assumes that
// the machines of the replicas have as many processors as this one.
func (e *examination) connectionsFinding(i *sqlstore.Inspection) Finding {
	const check = "connections"
	section := e.cfg.Sections[program.SQLSection]
	all := e.replicas * i.Connections
	found := fmt.Sprintf("%d replicas open at most %d each, together %d", e.replicas, i.Connections, all)
	if e.replicas == 1 {
		found = fmt.Sprintf("one replica opens at most %d (--replicas counts more)", all)
	}
	const fewer = "lower sql.write_connections and sql.read_connections, or run fewer replicas"
	switch {
	case section["pool_mode"] == "transaction" && section["direct_dsn"] == "" && migrates(e.cfg):
		return failed(check, "sql.pool_mode is transaction and sql.direct_dsn is missing: tables cannot be changed through a pooler", "Set sql.direct_dsn to the DSN of the database server itself, or sql.migrate to off.")
	case section["pool_mode"] == "transaction":
		return passed(check, found+": the pooler must accept as many (max_client_conn)")
	case all > i.Capacity:
		return failed(check, fmt.Sprintf("%s, and the server accepts %d", found, i.Capacity), "Raise max_connections of the server, "+fewer+".")
	case all > i.Capacity*8/10:
		return warned(check, fmt.Sprintf("%s, and the server accepts %d, which leaves little for an upgrade, when replicas of both versions run, and for backups", found, i.Capacity), "Raise max_connections of the server, "+fewer+".")
	}
	return passed(check, fmt.Sprintf("%s; the server accepts %d", found, i.Capacity))
}

// missingDatabase is the finding about a database of SQLite that does not exist yet. The finding
// does not contain the path: it may be a mistyped DSN of a server, with a password.
func (e *examination) missingDatabase() Finding {
	dsn := e.cfg.Sections[program.SQLSection]["dsn"]
	location := engine.Location(dsn)
	if !migrates(e.cfg) {
		return failed("", location+" does not exist, and sql.migrate is off", "Set sql.dsn to an existing database, or sql.migrate to auto.")
	}
	if err := tryFile(filepath.Dir(engine.File(dsn))); err != nil {
		return failed("", fmt.Sprintf("%s cannot be created: %v", location, err), "Create the folder of the file that sql.dsn names, and let the user of Portico write to it.")
	}
	return passed("", location+" does not exist yet: portico serve creates it, and portico seed and portico import fill it")
}

// serverFinding is the finding about the database server.
func serverFinding(i *sqlstore.Inspection, location string) Finding {
	if i.Oldest != "" {
		return failed("", i.Version+" at "+location+" is too old", "Portico needs version "+i.Oldest+" or later.")
	}
	return passed("", i.Version+" at "+location)
}

// migrationsFinding is the finding about the tables.
func migrationsFinding(i *sqlstore.Inspection, migrates bool) Finding {
	const check = "migrations"
	switch pending := versions(i.Pending); {
	case i.TooNew:
		return failed(check, "a newer Portico has changed the tables: this one does not know the "+versions(i.Unknown), "Use that version of Portico, or restore the backup from before the update.")
	case len(i.Pending) == 0 && len(i.Unknown) > 0:
		return warned(check, "all made, and by a newer Portico the "+versions(i.Unknown)+", with which this one can work", "Complete the upgrade to that version.")
	case len(i.Pending) == 0:
		return passed(check, "all made")
	case !migrates:
		return failed(check, pending+" not made, and sql.migrate is off", "Run portico migrate up, as a user who may change tables.")
	case i.Pending[0] == 1:
		return passed(check, "there are no tables yet: portico serve creates them")
	default:
		return warned(check, pending+" not made yet: the next start of portico serve makes them", "Back up the database, and run portico migrate before the start of several replicas.")
	}
}

// versions names migrations.
func versions(all []int64) string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = fmt.Sprint(v)
	}
	if len(all) == 1 {
		return "migration " + texts[0]
	}
	return "migrations " + strings.Join(texts, ", ")
}

// rightsFinding is the finding about the rights of the user.
func rightsFinding(i *sqlstore.Inspection, migrates bool) Finding {
	const check = "rights"
	writes, changes := strings.Join(i.MissingWrites, ", "), strings.Join(i.MissingChanges, ", ")
	switch {
	case writes != "":
		return failed(check, "the user cannot serve clients: it lacks "+writes, "Grant the user these rights on all tables.")
	case changes != "" && migrates && len(i.Pending) > 0:
		return failed(check, "the user cannot make the migrations: it lacks "+changes, "Grant the user these rights, or run portico migrate as another user and set sql.migrate to off.")
	case changes != "" && migrates:
		return warned(check, "the next version of Portico may be unable to change the tables: the user lacks "+changes, "Grant the user these rights, or set sql.migrate to off and run portico migrate as another user.")
	case changes != "":
		return passed(check, "the user may write, and leaves the tables as they are (sql.migrate off)")
	}
	return passed(check, "the user may write and change tables")
}

// clockWarning is the difference between two clocks from which one of them counts as wrong.
const clockWarning = 30 * time.Second

// clockFinding is the finding about the clock of another machine. Its difference is known with an
// error of at most unsure.
func clockFinding(check string, ahead, unsure time.Duration) Finding {
	const advice = "Let NTP set both clocks (timedatectl and chronyc tracking say whether it does). Signed calls are refused if the clock of the sender is too far ahead."
	tolerance := fmt.Sprintf("timestamps of signed calls may be %s ahead", auth.TimestampAhead)
	difference := max(0, ahead.Abs()-unsure)
	direction := "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	found := fmt.Sprintf("%s %s this machine's; %s", ahead.Abs().Round(time.Second), direction, tolerance)
	switch {
	case difference > auth.TimestampAhead:
		return failed(check, found, advice)
	case difference > clockWarning:
		return warned(check, found, advice)
	}
	return passed(check, "as this machine's; "+tolerance)
}

// checkImages checks that the images do not belong to another database.
func checkImages(ctx context.Context, db *sqlstore.DB) ([]Finding, error) {
	owner, ok := errors.AsType[*media.OwnerError](db.CheckMedia(ctx)) // other errors come from the bucket
	if !ok {
		return nil, nil
	}
	return one(failed("", owner.Error(), "Give each database a folder or a bucket of its own.")), nil
}

// checkRecords checks that this process may accept the writes of clients, and that the store is not
// empty.
func (e *examination) checkRecords(ctx context.Context, db *sqlstore.DB) ([]Finding, error) {
	if _, err := db.WriteOwners().All(ctx); err != nil {
		return nil, err
	}
	if err := program.CheckOwners(ctx, e.cfg, db.WriteOwners()); err != nil {
		return one(failed("", errorText(err), "")), nil
	}
	if e.cfg.Adapter != program.SQLSection {
		return notUsed("the records are those of the adapter " + e.cfg.Adapter), nil
	}
	empty, err := db.Empty(ctx)
	if err == nil && empty {
		return one(warned("", "the store is empty", "Fill it with portico seed or portico import.")), nil
	}
	return one(passed("", "the store has records")), err
}

// checkKey checks that the secret key is set, and that it decrypts the stored secrets.
func (e *examination) checkKey(ctx context.Context, db *sqlstore.DB) ([]Finding, error) {
	if _, err := db.Credentials().List(ctx); err != nil {
		return nil, err
	}
	if err := program.CheckSecretKey(ctx, db.Credentials()); err != nil {
		return one(failed("", errorText(err), "")), nil
	}
	if len(e.cfg.Auth.SecretKey) == 0 {
		return one(warned("", "secrets of consumers and tokens are stored unencrypted", `Set auth.secret_key to the output of "openssl rand -hex 32", and run portico credentials rekey.`)), nil
	}
	return one(passed("", "set, and decrypts the secrets of consumers")), nil
}

// checkAdmins checks that the administrators for whom tokens and API keys act exist and are
// enabled.
func checkAdmins(ctx context.Context, db *sqlstore.DB) ([]Finding, error) {
	admins, err := credentials.ReadAdmins(ctx, db)
	if err != nil {
		return nil, err
	}
	disabled := map[int64]bool{}
	for _, a := range admins {
		disabled[a.ID] = a.Disabled
	}
	owners, err := adminOwners(ctx, db)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, o := range slices.Sorted(maps.Keys(owners)) {
		switch isDisabled, exists := disabled[o]; {
		case !exists:
			findings = append(findings, failed("", fmt.Sprintf("administrator %d, who does not exist, has tokens or API keys that are valid: %d", o, owners[o]), `Revoke them: see "portico credentials list".`))
		case isDisabled:
			findings = append(findings, failed("", fmt.Sprintf("administrator %d, who is disabled, has tokens or API keys that are valid, and calls with them succeed: %d", o, owners[o]), "Run portico credentials disable-admin, which revokes them."))
		}
	}
	switch {
	case len(findings) > 0:
		return findings, nil
	case len(owners) == 0:
		return one(passed("", "no token acts for an administrator")), nil
	}
	return one(passed("", fmt.Sprintf("those for whom tokens act exist and are enabled: %d", len(owners)))), nil
}

// adminOwners returns the number of valid tokens and API keys by the id of their administrator.
func adminOwners(ctx context.Context, db *sqlstore.DB) (map[int64]int, error) {
	grants, err := db.Credentials().List(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := db.Credentials().Keys(ctx)
	if err != nil {
		return nil, err
	}
	owners := map[int64]int{}
	for _, g := range grants {
		for _, t := range g.Tokens {
			if t.Type == adapter.AccessToken && !t.Revoked && t.AdminID != 0 {
				owners[t.AdminID]++
			}
		}
	}
	for _, k := range keys {
		if !k.Revoked && k.AdminID != 0 {
			owners[k.AdminID]++
		}
	}
	return owners, nil
}

// checkDemoCredentials checks that the credentials of the demo store, which are public, are not
// valid in this store.
func (e *examination) checkDemoCredentials(ctx context.Context, db *sqlstore.DB) ([]Finding, error) {
	data, err := dataset.Load()
	if err != nil {
		return nil, err
	}
	const advice = `Remove the consumer of the demo store: see "portico credentials list" and "portico credentials revoke --help".`
	grants, err := db.Credentials().List(ctx)
	if err != nil {
		return nil, err
	}
	isDemo := func(g adapter.Grant) bool { return strings.EqualFold(g.Consumer.Key, data.Consumer.Key) }
	switch {
	case !slices.ContainsFunc(grants, isDemo):
		return one(passed("", "not in the store")), nil
	case config.Loopback(e.cfg.Listen):
		return one(warned("", "the store has those of the demo store, whose secrets are public", advice)), nil
	}
	return one(failed("", "the store has those of the demo store, whose secrets are public, and others can reach "+e.cfg.Listen, advice)), nil
}
