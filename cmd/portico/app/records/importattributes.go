package records

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/config"
)

// settingLists returns a function that returns the settings in force that list the values which
// products may have, by name.
func settingLists(inForce func() *config.Config) func() map[string][]string {
	return func() map[string][]string {
		cfg := inForce()
		return map[string][]string{
			"store.attribute_sets": cfg.Store.AttributeSets,
			"store.tax_classes":    cfg.Store.TaxClasses,
			"store.themes":         cfg.Store.Themes,
		}
	}
}

// settingLines returns settings as lines of a configuration file.
func settingLines(settings []importer.MissingSetting) string {
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

// writeComments writes the comments, indented like the setting that follows.
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

// yamlScalar returns a text as a YAML scalar: unchanged if YAML reads it as the same text, and
// quoted otherwise.
func yamlScalar(text string) string {
	var plain struct{ V string }
	if yaml.Unmarshal([]byte("v: "+text+"\n"), &plain) == nil && plain.V == text && text != "" && !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return fmt.Sprintf("%q", text)
}
