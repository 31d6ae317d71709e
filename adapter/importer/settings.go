package importer

import (
	"context"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// attributesTable is the setting that adds attributes to the store.
const attributesTable = "attributes"

// A MissingSetting is a value that the legacy store uses and the configuration lacks.
type MissingSetting struct {
	// Setting is the name of the setting, and Value its desired value: of a list all values,
	// including the configured ones; of a table one entry in YAML.
	Setting string   `json:"setting"`
	Value   string   `json:"value"`
	Lacking []string `json:"lacking"` // values that the configuration lacks
	From    string   `json:"from,omitempty"`
}

// MissingSettings returns the attribute sets, tax classes, themes and added attributes that the
// legacy store uses and the configuration lacks. Clients could not save products with such a value
// again, and values of such attributes are not imported. lists is [Options].Lists.
func MissingSettings(lists func() map[string][]string, schemas *adapter.Schemas, settings []magento1.Setting) []MissingSetting {
	var all []MissingSetting
	var values map[string][]string
	if lists != nil {
		values = lists()
	}
	for _, s := range settings {
		have, isList := values[s.Name]
		switch {
		case isList:
			lacking := slices.DeleteFunc(splitNames(s.Value), func(one string) bool { return slices.Contains(have, one) })
			if len(lacking) > 0 {
				all = append(all, MissingSetting{s.Name, strings.Join(slices.Concat(have, lacking), ","), lacking, s.From})
			}
		case s.Name == attributesTable && s.Attribute != nil && !declared(schemas, s.Attribute):
			all = append(all, MissingSetting{s.Name, s.Value, []string{string(s.Attribute.Resource) + " " + s.Attribute.Name}, s.From})
		}
	}
	return all
}

// splitNames splits a list of names or ids.
func splitNames(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '[' || r == ']' || r == '"' })
}

// declared reports whether the store has an attribute of the legacy store.
func declared(schemas *adapter.Schemas, a *magento1.Attribute) bool {
	_, ok := schemas.Of(a.Resource).Index(a.Name)
	return ok
}

// checkAttributes adds to the report the settings that the legacy store uses and the configuration
// lacks. all: the rest of the shop is imported, too.
func (imp *Importer) checkAttributes(ctx context.Context, all bool) error {
	settings, err := imp.Legacy.Settings(ctx)
	if err != nil {
		return err
	}
	imp.Report.Missing = MissingSettings(imp.Options.Lists, imp.Options.From.Schemas, settings)
	for _, s := range settings {
		if s.Fields == nil || imp.Options.MissingFields == nil {
			continue
		}
		if entry := imp.Options.MissingFields(s.Fields); entry != "" {
			imp.Report.Missing = append(imp.Report.Missing, MissingSetting{s.Name, entry, []string{string(s.Fields.Resource) + " " + s.Fields.Role}, s.From})
		}
	}
	if len(imp.Report.Missing) == 0 && !all {
		imp.Report.note("the configuration has all attribute sets, tax classes, themes, attributes and lists of fields that the legacy store uses")
	}
	return nil
}
