package doctor

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// checkLimits finds users who may do more here than in the legacy store, such as administrators
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
	roles, err := db.Credentials().AccessRoles(ctx)
	if err != nil {
		return nil, err
	}
	rolesThere, err := legacy.Roles(ctx)
	if err != nil {
		return nil, err
	}
	if rolesThere.Absent {
		return one(passed("", "the version of the legacy store has no roles")), nil
	}
	here, there := auth.NewRights(&roles), auth.NewRights(&rolesThere.AccessRoles)
	for _, kind := range []contract.Role{contract.Guest, contract.Customer} {
		p := auth.Principal{Role: kind}
		if beyond := here.Beyond(p, there, p); beyond != "" {
			findings = append(findings, warned("", fmt.Sprintf("%ss may do more here than in the legacy store: %s", kind, beyond),
				"Run portico credentials import, or limit them with portico credentials set-role."))
		}
	}
	enabled, err := enabledAdmins(ctx, db)
	if err != nil {
		return nil, err
	}
	for one, err := range legacy.Admins(ctx) {
		id, known := enabled[adapter.Fold(one.Username)]
		if err != nil || one.Disabled || !known {
			if err != nil {
				return nil, err
			}
			continue
		}
		beyond := here.Beyond(auth.Principal{Role: contract.Admin, AdminID: id}, there, auth.Principal{Role: contract.Admin, AdminID: one.ID})
		if beyond != "" {
			findings = append(findings, warned("", fmt.Sprintf("administrator %.64q may do more here than in the legacy store: %s", one.Username, beyond),
				"Run portico credentials import, or give the administrator another role with portico credentials assign-role."))
		}
	}
	if len(findings) > 0 {
		return findings, nil
	}
	return one(passed("", "nobody may do more here")), nil
}

// enabledAdmins returns the ids of the administrators who are not disabled, by their folded usernames.
func enabledAdmins(ctx context.Context, db *sqlstore.DB) (map[string]int64, error) {
	admins, err := credentials.ReadAdmins(ctx, db)
	enabled := map[string]int64{}
	for _, a := range admins {
		if !a.Disabled {
			enabled[adapter.Fold(a.Username)] = a.ID
		}
	}
	return enabled, err
}
