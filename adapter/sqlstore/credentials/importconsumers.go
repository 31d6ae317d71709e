package credentials

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules/imports"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Foreign are the credentials of another system, with its ids. Import may
// iterate over each sequence several times.
type Foreign struct {
	Admins    iter.Seq2[adapter.Admin, error]
	Consumers iter.Seq2[adapter.Consumer, error]
	Tokens    iter.Seq2[adapter.LegacyToken, error]
	// Roles are the roles there; nil stands for a system without roles.
	Roles *adapter.LegacyRoles
}

// ImportOptions control Store.Import.
type ImportOptions struct {
	// Admins makes Import add administrators who do not exist in the database.
	Admins bool
	// Replace makes Import overwrite existing credentials that differ from the other
	// system's. Without it they stay unchanged.
	Replace bool
	// DryRun makes Import report its results without storing anything.
	DryRun bool
	// Expected, if not nil, reports in a dry run whether a customer who does not exist
	// would have been imported by now.
	Expected func(customer adapter.Key) bool
	// Lease, if not nil, makes Import fail with coordination.ErrLeaseLost, and store nothing, if its
	// holder has lost it.
	Lease *coordination.Lease
	// Progress, if not nil, is called from time to time with the number of credentials
	// processed so far.
	Progress func(done int)
}

// A Reason is why a credential was not imported. It is shown to people.
type Reason string

// The reasons that an ImportReport can hold.
const (
	BadKey      Reason = "the key is not 32 characters long"
	BadToken    Reason = "the token is not 32 characters long"
	BadSecret   Reason = "the secret is empty or cannot be stored"
	BadName     Reason = "the name is empty or too long"
	NoImport    Reason = "not here, and administrators are not imported"
	NotAccess   Reason = "a request token: it ages out"
	NotGranted  Reason = "nobody has authorized it"
	NoConsumer  Reason = "its consumer is not here"
	NoAdmin     Reason = "its administrator is not here"
	AdminLocked Reason = "its administrator is not active in the legacy store, or disabled here"
	NoCustomer  Reason = "its customer is not here"
	// OtherCustomer keeps out a token that would act for a different person here.
	OtherCustomer Reason = "the customer of its id has another e-mail address here"
	NoOwner       Reason = "it belongs to nobody"
	UnknownHash   Reason = "the password has an unknown form: this administrator needs a new one"
)

// A Tally counts the results for credentials of one kind.
type Tally struct {
	Added     int            `json:"added"`
	Updated   int            `json:"updated"`   // changed to match the other system
	Unchanged int            `json:"unchanged"` // already matching the other system
	Differing int            `json:"differing"` // different here, and unchanged
	Skipped   map[Reason]int `json:"skipped,omitempty"`
}

func (t *Tally) skip(why Reason) {
	if t.Skipped == nil {
		t.Skipped = map[Reason]int{}
	}
	t.Skipped[why]++
}

// An ImportNote reports the outcome for one consumer, administrator or role.
type ImportNote struct {
	Kind    string `json:"kind"` // "consumer", "admin" or "role"
	Name    string `json:"name"`
	Outcome string `json:"word"` // "added", "updated", "differs" or a Reason
}

// A RoleTally counts the results for roles.
type RoleTally struct {
	Added     int `json:"added"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Assigned  int `json:"assigned"` // administrators who got another role
}

// maxNotes bounds ImportReport.Notes.
const maxNotes = 1000

// An ImportReport holds the results of Store.Import.
type ImportReport struct {
	Admins    Tally        `json:"admins"`
	Consumers Tally        `json:"consumers"`
	Tokens    Tally        `json:"tokens"`
	Roles     RoleTally    `json:"roles"`
	Notes     []ImportNote `json:"named,omitempty"` // the first 1000
	// RoleFaults name the rows of the other system's roles that could not be carried over. They
	// allow nothing here.
	RoleFaults []string `json:"role_faults,omitempty"`
}

// progressEvery is the number of credentials between two progress reports.
const progressEvery = 100

// pendingID stands for the id of a record that a dry run would add.
const pendingID = -1

// A credentialImport is the transaction of Store.Import.
type credentialImport struct {
	c  *Store
	tx *engine.Tx
	ImportOptions
	consumers, admins map[int64]int64      // id in this database by the id in the other system
	disabledAdmins    map[int64]bool       // by the id in the other system: inactive there, or disabled here
	roles             *adapter.LegacyRoles // nil if the other system has none
	rolesHere         adapter.AccessRoles  // before the import
	roleIDs           map[int64]int64      // id in this database by the id in the other system
	processed         int
	result            ImportReport
}

// forEach calls f for each element of from and reports the progress.
func forEach[T any](in *credentialImport, from iter.Seq2[T, error], f func(T) error) error {
	if from == nil {
		return nil
	}
	for one, err := range from {
		if err == nil {
			err = f(one)
		}
		if err != nil {
			return err
		}
		if in.processed++; in.Progress != nil && in.processed%progressEvery == 0 {
			in.Progress(in.processed)
		}
	}
	return nil
}

// addNote reports the result for a consumer or an administrator.
func (in *credentialImport) addNote(kind, name, word string) {
	if len(in.result.Notes) < maxNotes {
		in.result.Notes = append(in.result.Notes, ImportNote{Kind: kind, Name: name, Outcome: word})
	}
}

// queryRow scans the row that a statement finds, and reports whether it finds one.
func (in *credentialImport) queryRow(ctx context.Context, text string, arguments []any, into ...any) (bool, error) {
	err := in.tx.QueryRow(ctx, text, arguments...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// freeID returns id if it is free in a table, and the next free one otherwise.
func (in *credentialImport) freeID(ctx context.Context, table, column string, id int64) (int64, error) {
	var one int
	taken, err := in.queryRow(ctx, "SELECT 1 FROM "+table+" WHERE "+column+" = ?", []any{id}, &one)
	if err != nil || id > 0 && id <= imports.MaxImportedKey && !taken {
		return id, err
	}
	_, err = in.queryRow(ctx, "SELECT COALESCE(MAX("+column+"), 0) + 1 FROM "+table, nil, &id)
	return id, err
}

// importAdmin finds the administrator of that user name, for the tokens that follow, and creates
// it if Admins is set. An existing administrator is never changed, except that it gets its role in
// the legacy store, and is disabled if the legacy store has disabled it. With DryRun the function
// only counts.
func (in *credentialImport) importAdmin(ctx context.Context, a adapter.Admin) error {
	in.disabledAdmins[a.ID] = a.Disabled
	tally := &in.result.Admins
	var id int64
	var disabled sql.NullInt64
	found, err := in.queryRow(ctx, "SELECT admin_id, disabled FROM admin WHERE username_folded = ?", []any{adapter.Fold(a.Username)}, &id, &disabled)
	if err != nil {
		return err
	}
	switch {
	case found && a.Disabled && disabled.Int64 == 0:
		in.admins[a.ID] = id
		tally.Updated++
		in.addNote("admin", a.Username, "disabled: not active in the legacy store")
		if !in.DryRun {
			if _, err := (adminTx{in.tx}).disable(ctx, id); err != nil {
				return err
			}
		}
		return in.importAssignment(ctx, a, id)
	case found:
		in.admins[a.ID], in.disabledAdmins[a.ID] = id, disabled.Int64 != 0
		tally.Unchanged++ // the password may have been changed here, or hashed in a better way
		return in.importAssignment(ctx, a, id)
	case !in.Admins:
		tally.skip(NoImport)
		return nil
	case a.Username == "" || utf8.RuneCountInString(a.Username) > maxUsername:
		tally.skip(BadName)
		in.addNote("admin", fmt.Sprintf("id %d", a.ID), string(BadName))
		return nil
	}
	if err := in.addAdmin(ctx, a); err != nil {
		return err
	}
	return in.importAssignment(ctx, a, in.admins[a.ID])
}

// addAdmin creates an administrator, under its id if that is free.
func (in *credentialImport) addAdmin(ctx context.Context, a adapter.Admin) error {
	hash, word, inactive := a.PasswordHash, "added", int64(0)
	if !adapter.KnownPasswordHash(hash) {
		hash, word = "", string(UnknownHash)
	}
	if a.Disabled {
		word, inactive = "added, disabled: not active in the legacy store", 1
	}
	in.result.Admins.Added++
	in.addNote("admin", a.Username, word)
	in.admins[a.ID] = pendingID
	if in.DryRun {
		return nil
	}
	id, err := in.freeID(ctx, "admin", "admin_id", a.ID)
	if err != nil {
		return err
	}
	in.admins[a.ID], err = in.tx.Insert(ctx, "admin", "admin_id", id,
		[]string{"username", "username_folded", "password_hash", "disabled"}, []any{a.Username, adapter.Fold(a.Username), engine.NullIfZero(hash), engine.NullIfZero(inactive)})
	return err
}

// importConsumer stores a consumer, or counts the reason for not storing it. An existing
// consumer is changed only with Replace.
func (in *credentialImport) importConsumer(ctx context.Context, foreign adapter.Consumer) error {
	tally := &in.result.Consumers
	if why := in.refuseConsumer(foreign); why != "" {
		tally.skip(why)
		in.addNote("consumer", foreign.Name, string(why))
		return nil
	}
	here, found, err := in.storedConsumer(ctx, foreign.Key)
	if err != nil {
		return err
	}
	if !found {
		tally.Added++
		in.addNote("consumer", foreign.Name, "added")
		return in.addConsumer(ctx, foreign)
	}
	in.consumers[foreign.ID] = here.ID
	same := foreign
	same.ID = here.ID
	switch {
	case here == same:
		tally.Unchanged++
		return nil
	case !in.Replace:
		tally.Differing++
		in.addNote("consumer", foreign.Name, "differs")
		return nil
	}
	tally.Updated++
	in.addNote("consumer", foreign.Name, "updated")
	if in.DryRun {
		return nil
	}
	sealed, err := in.c.sealer.seal(foreign.Secret, "consumer "+lookupForm(foreign.Key))
	if err != nil {
		return err
	}
	_, err = in.tx.Run(ctx, "UPDATE oauth_consumer SET name = ?, consumer_key = ?, secret = ?, callback = ?, rejected_callback = ? WHERE consumer_id = ?",
		foreign.Name, foreign.Key, sealed, engine.NullIfZero(foreign.Callback), engine.NullIfZero(foreign.RejectedCallback), here.ID)
	return err
}

// refuseConsumer returns the reason why a consumer cannot be stored, or "".
func (in *credentialImport) refuseConsumer(foreign adapter.Consumer) Reason {
	switch {
	case len(foreign.Key) != tokenLength || !engine.Storable(foreign.Key, tokenLength):
		return BadKey
	case utf8.RuneCountInString(foreign.Name) > maxUsername:
		return BadName
	case !in.c.sealer.canStore(foreign.Secret):
		return BadSecret
	}
	return ""
}

// storedConsumer returns the stored consumer of a key, with its secret, and whether there is
// one.
func (in *credentialImport) storedConsumer(ctx context.Context, key string) (here adapter.Consumer, found bool, err error) {
	lower := lookupForm(key)
	var callback, rejected sql.NullString
	found, err = in.queryRow(ctx, "SELECT consumer_id, name, consumer_key, secret, callback, rejected_callback FROM oauth_consumer WHERE consumer_key_lower = ?",
		[]any{lower}, &here.ID, &here.Name, &here.Key, &here.Secret, &callback, &rejected)
	if err == nil && found {
		here.Secret, err = in.c.sealer.open(here.Secret, "consumer "+lower)
	}
	here.Callback, here.RejectedCallback = callback.String, rejected.String
	return here, found, err
}

// addConsumer stores a new consumer, under its id if that is free.
func (in *credentialImport) addConsumer(ctx context.Context, foreign adapter.Consumer) (err error) {
	in.consumers[foreign.ID] = pendingID
	if in.DryRun {
		return nil
	}
	consumer := foreign
	if consumer.ID, err = in.freeID(ctx, "oauth_consumer", "consumer_id", foreign.ID); err == nil {
		in.consumers[foreign.ID], err = in.c.insertConsumer(ctx, in.tx, consumer)
	}
	return err
}

// Import stores the consumers, access tokens and, if o.Admins is set, administrators of another
// system, all or none. It matches them with existing ones by key, token and username.
//
//   - A consumer keeps its id if that is free.
//   - A token is imported if its consumer and its owner exist: a customer with the same id and
//     e-mail address, an administrator with the same username. A token that is revoked in one of
//     the systems is revoked here, regardless of the options.
//   - An administrator who is inactive in the other system is disabled here as by
//     Admins.Disable, regardless of the options, and no token of theirs is imported. An
//     administrator with a password hash of unknown form cannot log in.
//   - Guests, Customers and each administrator get the role that they have in the other system.
//     A role or an assignment that an operator has made here stays, whatever it is there.
//
// Kinds: Conflict if another process adds credentials at the same time; Internal for secrets
// that the configured key does not decrypt; Unavailable. An error of one of the sequences is
// wrapped.
func (c *Store) Import(ctx context.Context, from Foreign, o ImportOptions) (ImportReport, error) {
	const op = "import credentials"
	var done ImportReport
	err := coordination.WriteLease(ctx, c.db, op, o.Lease, func(tx *engine.Tx) error {
		in := credentialImport{c: c, tx: tx, ImportOptions: o, consumers: map[int64]int64{}, admins: map[int64]int64{}, disabledAdmins: map[int64]bool{}}
		err := in.run(ctx, from)
		done = in.result
		return err
	})
	return done, err
}

func (in *credentialImport) run(ctx context.Context, from Foreign) error {
	if err := in.importRoles(ctx, from.Roles); err != nil {
		return err
	}
	if err := forEach(in, from.Admins, func(a adapter.Admin) error { return in.importAdmin(ctx, a) }); err != nil {
		return err
	}
	if err := forEach(in, from.Consumers, func(consumer adapter.Consumer) error { return in.importConsumer(ctx, consumer) }); err != nil {
		return err
	}
	if err := forEach(in, from.Tokens, func(t adapter.LegacyToken) error { return in.importToken(ctx, t) }); err != nil {
		return err
	}
	if in.DryRun {
		return nil
	}
	return engine.MoveCounters(ctx, in.tx.Run, in.c.db.Engine.Counters.Advance, append(Counters(), engine.Counter{Table: "admin", Column: "admin_id"}))
}
