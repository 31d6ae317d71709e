package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// checkLegacySettings compares the configuration of the legacy store with Portico's settings.
// It asks only what "portico import config" would write today.
func (e *examination) checkLegacySettings(ctx context.Context) []Finding {
	if e.cfg.Follow.DSN == "" {
		return notUsed("follow.dsn is not set")
	}
	legacy, err := e.openFollowed(ctx)
	if err != nil {
		return one(notChecked("", err.Error()))
	}
	defer func() { _ = legacy.Close() }()
	found, err := legacy.Settings(ctx)
	if err != nil {
		return one(notChecked("", errorText(err)))
	}
	findings := settingFindings(config.Settings(e.program.Sections()...), e.cfg.Rows(), found)
	if len(findings) == 0 {
		return one(passed("", "Portico's settings are those of the legacy store"))
	}
	return findings
}

// openFollowed opens the followed database of the legacy store.
func (e *examination) openFollowed(ctx context.Context) (*magento1.Database, error) {
	f := e.cfg.Follow
	db, err := magento1.Open(ctx, magento1.Options{
		ServerOptions: magento1.ServerOptions{DSN: f.DSN, Prefix: f.Prefix, Charset: f.Charset, OldTLS: f.OldTLS}, Schemas: adapter.NewSchemas(),
	})
	if err != nil {
		return nil, errors.New("the database of the legacy store cannot be read: " + errorText(program.ExplainFollowing(e.cfg, err)))
	}
	return db, nil
}

// settingFindings returns a warning for each setting whose value differs from the legacy store's,
// in the order in which wrong answers hurt clients, and for each difference without a setting.
// known are the definitions of all settings, and rows their values.
func settingFindings(known []config.Setting, rows []config.Row, found []magento1.Setting) (findings []Finding) {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b magento1.Setting) int { return cmp.Compare(a.Rank(), b.Rank()) })
	for _, s := range found {
		at := slices.IndexFunc(known, func(k config.Setting) bool { return k.Name == s.Name })
		row := slices.IndexFunc(rows, func(r config.Row) bool { return r.Name == s.Name })
		switch {
		case s.Name == "":
			findings = append(findings, warned("", fmt.Sprintf("%s (from %s)", s.Warning, s.From), ""))
		case s.Fields != nil: // "portico import attributes" compares them
		case at < 0 && !hasEntry(rows, s.Name, s.Value):
			findings = append(findings, warned("", fmt.Sprintf("%s lacks the entry %s (from %s)", s.Name, s.Value, s.From),
				"Add the entry to "+s.Name+", as portico import config writes it."))
		case at >= 0 && row >= 0 && known[at].Check(s.Value) != nil:
			findings = append(findings, warned("", fmt.Sprintf("%s is %q, and %q in the legacy store, a value that the setting cannot have (from %s)", s.Name, rows[row].Value, s.Value, s.From), ""))
		case at >= 0 && row >= 0 && !isSame(known[at], rows[row].Value, s.Value):
			findings = append(findings, warned("", fmt.Sprintf("%s is %q, and %q in the legacy store (from %s)", s.Name, rows[row].Value, s.Value, s.From),
				fmt.Sprintf("Set %s to %q, unless Portico is to answer otherwise.", s.Name, s.Value)))
		}
	}
	return findings
}

// isSame reports whether a setting has the value of the legacy store. The order of a list does not
// count, and a list of what the shop has may have more values. An address that the legacy store does not
// say is any.
func isSame(s config.Setting, here, there string) bool {
	switch s.Kind {
	case config.Names:
		lacks := func(have, wanted []string) bool {
			return slices.ContainsFunc(wanted, func(name string) bool { return !slices.Contains(have, name) })
		}
		mayHaveMore := slices.Contains([]string{"store.attribute_sets", "store.tax_classes", "store.themes"}, s.Name)
		return !lacks(names(here), names(there)) && (mayHaveMore || !lacks(names(there), names(here)))
	case config.URL:
		return there == "" || s.Same(here, there)
	}
	return s.Same(here, there)
}

// names splits a list of names.
func names(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// hasEntry reports whether a table of the configuration has an entry, which is in YAML: one with
// the same keys but for those that the configuration adds.
func hasEntry(rows []config.Row, table, entry string) bool {
	var wanted map[string]any
	if yaml.Unmarshal([]byte(entry), &wanted) != nil {
		return false
	}
	identity := []string{"resource", "name", "role"}
	return slices.ContainsFunc(rows, func(r config.Row) bool {
		var have map[string]any
		if !strings.HasPrefix(r.Name, table) || yaml.Unmarshal([]byte(r.Value), &have) != nil || have == nil {
			return false
		}
		return !slices.ContainsFunc(identity, func(key string) bool { return fmt.Sprint(have[key]) != fmt.Sprint(wanted[key]) })
	})
}

// checkLimits finds users who may do more here than in the legacy store, such as administrators
// that an earlier version has imported.
func (e *examination) checkLimits(ctx context.Context) []Finding {
	if e.cfg.Follow.DSN == "" {
		return notUsed("follow.dsn is not set")
	}
	db, err := e.openDatabase(ctx)
	if err != nil {
		return one(notChecked("", "see the findings about the database"))
	}
	defer func() { _ = db.Close() }() // it has only been read
	legacy, err := e.openFollowed(ctx)
	if err != nil {
		return one(notChecked("", err.Error()))
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
