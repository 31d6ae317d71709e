package records

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
)

// importConfigCommand returns the command "import config".
func importConfigCommand(p *program.Program) *cobra.Command {
	var source importSource
	cmd := &cobra.Command{
		Use:   "config --from DSN",
		Short: "Print a configuration file from the settings of the legacy store",
		Long: `Print a configuration file for Portico from the settings of a shop in a database of
Magento 1 or OpenMage: time zone, locale, currency, where guests pay tax, defaults of stock
items, attribute sets, tax classes, the shop's addresses, its own attributes, and the fields
that its roles may read. A comment at each line says where the value was found; a comment
without a line names what Portico has no setting for.

Read it through, complete it, and import the shop with it: the import reads the values of
the attributes that the file adds.`,
		Example: `  portico import config --from-file old.dsn > portico.yaml
  portico config --config portico.yaml --changed
  portico import --config portico.yaml --from-file old.dsn all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printShopConfig(cmd, &source, config.Settings(p.Sections()...))
		},
	}
	p.AddSettingFlags(cmd)
	source.addSourceFlags(cmd)
	return cmd
}

// printShopConfig prints the settings of the legacy store as a configuration file. known are the definitions of
// Portico's settings.
func printShopConfig(cmd *cobra.Command, source *importSource, known []config.Setting) (err error) {
	dsn, err := source.read(cmd)
	if err != nil {
		return err
	}
	legacyDB, err := magento1.Open(cmd.Context(), source.options(dsn, adapter.NewSchemas()))
	if err != nil {
		return source.explain(err)
	}
	defer func() { err = errors.Join(err, legacyDB.Close()) }()
	settings, err := legacyDB.Settings(cmd.Context())
	if err != nil {
		return err
	}
	dialect, evidence, err := legacyDB.Dialect(cmd.Context())
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), shopConfig(dialect, evidence, known, settings))
	return err
}

// shopConfig returns the dialect and the settings of the legacy store as a configuration file. A value that a
// setting cannot have is replaced by its default, with a comment: a shop may hold anything.
func shopConfig(dialect, evidence string, known []config.Setting, settings []magento1.Setting) string {
	f := &configWriter{}
	f.comment("What clients of the legacy store expect: " + evidence + ". \"documented\" is for clients that follow the contract to the letter.")
	f.set("dialect", dialect)
	var notes []string
	own := ownAttributes(settings)
	for _, s := range settings {
		value := s.Value
		if s.Fields != nil {
			value = fieldListEntry(dialect, s.Fields, own[s.Fields.Resource])
		}
		switch {
		case s.Name == "":
			notes = append(notes, s.Warning+" (from "+s.From+")")
			continue
		case s.Fields != nil && value == "": // the legacy store has no list
			continue
		}
		f.comment("from " + s.From)
		f.comment(s.Warning)
		if at := slices.IndexFunc(known, func(k config.Setting) bool { return k.Name == s.Name }); at >= 0 {
			usual := known[at].DefaultIn(dialect)
			if s.Name == "store.themes" {
				value = union(usual, value, known[at].Check)
			}
			if err := known[at].Check(value); err != nil {
				if strings.HasSuffix(s.Name, "_region") { // the default is one of the United States
					usual = ""
				}
				f.comment(fmt.Sprintf("%q %v: %q counts", value, err, usual))
				value = usual
			}
		}
		f.set(s.Name, value)
	}
	if len(notes) > 0 {
		f.comment("Portico has no settings for these:")
	}
	for _, note := range notes {
		f.comment(note)
	}
	return "# The settings of a legacy store, by \"portico import config\". Read them through. No database tells\n" +
		"# store.tax_rounding and store.integers: \"portico compare\" names them if they have to change.\n\n" + f.String()
}

// union returns the names of two lists, each with commas between them, that pass check.
func union(one, other string, check func(string) error) string {
	var all []string
	for _, name := range strings.Split(one+","+other, ",") {
		if name != "" && !slices.Contains(all, name) && check(name) == nil {
			all = append(all, name)
		}
	}
	return strings.Join(all, ",")
}

// ownAttributes returns the names of the legacy store's own attributes, by resource. They are in no
// entry of the table fields, because the entries of the table attributes name their roles.
func ownAttributes(settings []magento1.Setting) map[adapter.Resource][]string {
	own := map[adapter.Resource][]string{}
	for _, s := range settings {
		if s.Attribute != nil {
			own[s.Attribute.Resource] = append(own[s.Attribute.Resource], s.Attribute.Name)
		}
	}
	return own
}

// fieldListEntry returns a list of fields of the legacy store as an entry of the table fields,
// without the legacy store's own attributes. It returns "" if the legacy store has no list that matters in
// the dialect.
func fieldListEntry(dialect string, l *magento1.FieldList, own []string) (entry string) {
	if l.WithoutComputed && dialect == contract.OpenMage().Name {
		entry = ", without_computed: true"
	}
	for _, operation := range []struct {
		key    string
		listed []string
	}{{"read", l.Read}, {"write", l.Write}} {
		if operation.listed != nil && (operation.key == "read" || writesSome(l)) {
			named := slices.DeleteFunc(slices.Clone(operation.listed), func(name string) bool { return slices.Contains(own, name) })
			entry += fmt.Sprintf(", %s: [%s]", operation.key, strings.Join(named, ", "))
		}
	}
	if entry == "" {
		return ""
	}
	return fmt.Sprintf("{resource: %s, role: %s%s}", l.Resource, l.Role, entry)
}

// writesSome reports whether the contract lets the role of a list write any field of its resource.
func writesSome(l *magento1.FieldList) bool {
	return slices.ContainsFunc(contract.Roles(), func(role contract.Role) bool {
		_, write := contract.StandardFields().Granted(string(l.Resource), role)
		return role.String() == l.Role && len(write) > 0
	})
}

// missingFields returns a function that returns the entry of the table fields for a list of the
// legacy store, or "" if the list limits nothing or the configuration has an entry of its own.
func missingFields(cfg *config.Config) func(*magento1.FieldList) string {
	return func(l *magento1.FieldList) string {
		if slices.ContainsFunc(cfg.Fields, func(f config.FieldList) bool { return f.Resource == string(l.Resource) && f.Role == l.Role }) {
			return ""
		}
		return fieldListEntry(cfg.Dialect, l, nil)
	}
}
