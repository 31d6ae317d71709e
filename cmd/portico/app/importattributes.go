package app

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/config"
)

// attributesTable is the setting that adds attributes to the store.
const attributesTable = "attributes"

// A missingSetting is a value that the old shop uses and the configuration lacks.
type missingSetting struct {
	// Setting is the name of the setting, and Value what it should be: of a list all
	// values, those of the configuration included; of a table one entry in YAML.
	Setting string   `json:"setting"`
	Value   string   `json:"value"`
	Lacking []string `json:"lacking"` // what the configuration lacks of it
	From    string   `json:"from,omitempty"`
}

// missingSettings returns what the old shop uses of attribute sets, tax classes, themes and
// attributes of its own and the configuration lacks. Products that have such a value could
// not be saved again by clients, and values of such attributes are not imported.
func missingSettings(cfg *config.Config, settings []magento1.Setting) []missingSetting {
	known := map[string][]string{
		"store.attribute_sets": cfg.Store.AttributeSets,
		"store.tax_classes":    cfg.Store.TaxClasses,
		"store.themes":         cfg.Store.Themes,
	}
	var all []missingSetting
	for _, s := range settings {
		have, isList := known[s.Name]
		switch {
		case isList:
			lacking := slices.DeleteFunc(splitNames(s.Value), func(one string) bool { return slices.Contains(have, one) })
			if len(lacking) > 0 {
				all = append(all, missingSetting{s.Name, strings.Join(slices.Concat(have, lacking), ","), lacking, s.From})
			}
		case s.Name == attributesTable && s.Attribute != nil && !declared(cfg, s.Attribute):
			all = append(all, missingSetting{s.Name, s.Value, []string{string(s.Attribute.Resource) + " " + s.Attribute.Name}, s.From})
		}
	}
	return all
}

// splitNames splits a list of names or ids.
func splitNames(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '[' || r == ']' || r == '"' })
}

// declared reports whether the configuration has an attribute of the old shop.
func declared(cfg *config.Config, a *magento1.Attribute) bool {
	return slices.ContainsFunc(cfg.Attributes, func(c config.Attribute) bool {
		return adapter.Resource(c.Resource) == a.Resource && c.Name == a.Name
	})
}

// settingLines returns settings as lines of a configuration file.
func settingLines(settings []missingSetting) string {
	f := &configWriter{}
	for _, s := range settings {
		f.comment(s.From)
		f.set(s.Setting, s.Value)
	}
	return f.String()
}

// A configWriter writes a configuration file. Settings of a section and entries of a table
// need not be set one after the other.
type configWriter struct {
	sections []string // sections, tables and settings without a section, in order
	lines    map[string]*strings.Builder
	comments []string // of the next setting
}

// comment adds a comment to the next setting. It may be any text.
func (f *configWriter) comment(text string) {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if text != "" {
		f.comments = append(f.comments, text)
	}
}

// writeComments writes the comments, indented like what follows.
func (f *configWriter) writeComments(w io.Writer, indent string) {
	for _, c := range f.comments {
		fmt.Fprintf(w, "%s# %s\n", indent, c)
	}
	f.comments = nil
}

// set writes a setting with its section, or an entry of a table.
func (f *configWriter) set(name, value string) {
	section, key, nested := strings.Cut(name, ".")
	isTable := slices.ContainsFunc(config.Tables(), func(t config.Table) bool { return t.Name == name })
	w := f.lines[section]
	if w == nil {
		if f.lines == nil {
			f.lines = map[string]*strings.Builder{}
		}
		w = &strings.Builder{}
		f.sections, f.lines[section] = append(f.sections, section), w
		if nested || isTable {
			fmt.Fprintf(w, "%s:\n", section)
		}
	}
	switch {
	case isTable:
		f.writeComments(w, "  ")
		fmt.Fprintf(w, "  - %s\n", value)
	case nested:
		f.writeComments(w, "  ")
		fmt.Fprintf(w, "  %s: %s\n", key, yamlScalar(value))
	default:
		f.writeComments(w, "")
		fmt.Fprintf(w, "%s: %s\n", name, yamlScalar(value))
	}
}

// String returns the file, with the comments that no setting follows at its end.
func (f *configWriter) String() string {
	var all strings.Builder
	for i, section := range f.sections {
		if i > 0 {
			all.WriteString("\n")
		}
		all.WriteString(f.lines[section].String())
	}
	if len(f.comments) > 0 {
		all.WriteString("\n")
	}
	f.writeComments(&all, "")
	return all.String()
}

// yamlScalar returns a text as YAML has it: as it is if that reads as the same text.
func yamlScalar(text string) string {
	var plain struct{ V string }
	if yaml.Unmarshal([]byte("v: "+text+"\n"), &plain) == nil && plain.V == text && text != "" && !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return fmt.Sprintf("%q", text)
}
