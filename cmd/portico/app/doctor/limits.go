package doctor

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// checkLimits finds users who have all rights here and fewer in the legacy store, such as users
// that an earlier version has imported.
func (e *examination) checkLimits(ctx context.Context) []Finding {
	f := e.cfg.Follow
	if f.DSN == "" {
		return notUsed("follow.dsn is not set")
	}
	db, err := e.openDatabase(ctx)
	if err != nil {
		return one(notChecked("", "see the findings about the database"))
	}
	defer func() { _ = db.Close() }() // it has only been read
	legacy, err := magento1.Open(ctx, magento1.Options{
		ServerOptions: magento1.ServerOptions{DSN: f.DSN, Prefix: f.Prefix, Charset: f.Charset, OldTLS: f.OldTLS}, Schemas: adapter.NewSchemas(),
	})
	if err != nil {
		return one(notChecked("", "the database of the legacy store cannot be read: "+errorText(program.ExplainFollowing(e.cfg, err))))
	}
	defer func() { _ = legacy.Close() }()
	findings, err := limitFindings(ctx, db, legacy)
	if err != nil {
		return one(notChecked("", errorText(err)))
	}
	return findings
}

// limitFindings compares the rights of users here with their rights in the legacy store.
func limitFindings(ctx context.Context, db *sqlstore.DB, legacy *magento1.Database) (findings []Finding, err error) {
	widened, err := importer.ReadWidened(ctx, db)
	if err != nil {
		return nil, err
	}
	enabled, err := enabledAdmins(ctx, db)
	if err != nil {
		return nil, err
	}
	accepted := 0
	for one, err := range legacy.Admins(ctx) {
		switch {
		case err != nil:
			return nil, err
		case one.Limits == "" || one.Disabled || !enabled[adapter.Fold(one.Username)]:
		case widened.Has(one.Username):
			accepted++
		default:
			findings = append(findings, warned("", fmt.Sprintf("administrator %.64q has all rights here and fewer in the legacy store: %s", one.Username, one.Limits),
				fmt.Sprintf("Run portico credentials disable-admin %.64q, or accept it with portico credentials import --widen %.64[1]q.", one.Username)))
		}
	}
	found, err := customerLimits(ctx, db, legacy, widened)
	if err != nil {
		return nil, err
	}
	if findings = append(findings, found...); len(findings) > 0 {
		return findings, nil
	}
	if accepted > 0 || widened.Customers {
		return one(passed("", fmt.Sprintf("those who have more rights here were accepted with --widen or --widen-customers: %d administrators", accepted))), nil
	}
	return one(passed("", "nobody has more rights here")), nil
}

// enabledAdmins returns the folded usernames of the administrators who are not disabled.
func enabledAdmins(ctx context.Context, db *sqlstore.DB) (map[string]bool, error) {
	admins, err := credentials.ReadAdmins(ctx, db)
	enabled := map[string]bool{}
	for _, a := range admins {
		enabled[adapter.Fold(a.Username)] = !a.Disabled
	}
	return enabled, err
}

// customerLimits returns the finding about tokens of customers that have more rights here than in
// the legacy store. It returns no finding if there are no such tokens, or an operator has accepted
// them.
func customerLimits(ctx context.Context, db *sqlstore.DB, legacy *magento1.Database, widened importer.Widened) ([]Finding, error) {
	limits, err := legacy.CustomerLimits(ctx)
	if err != nil || limits == "" || widened.Customers {
		return nil, err
	}
	grants, err := db.Credentials().List(ctx)
	if err != nil {
		return nil, err
	}
	tokens := 0
	for _, grant := range grants {
		for _, t := range grant.Tokens {
			if t.CustomerID != 0 && t.AdminID == 0 && !t.Revoked {
				tokens++
			}
		}
	}
	if tokens == 0 {
		return nil, nil
	}
	return one(warned("", fmt.Sprintf("tokens of customers are valid here (%d), and customers may do less in the legacy store: %s", tokens, limits),
		"Limit what customers read and write with the setting fields, or accept it with portico credentials import --widen-customers.")), nil
}
