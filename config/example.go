package config

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// WriteExample writes a YAML file with every setting, its help, default, environment
// variable and flag. Settings are commented out with "# ", their sections are not.
func WriteExample(w io.Writer, settings []Setting) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `# Portico's settings, each with its default. To set one, remove the "# " before
# it. The environment overrides this file, the command line overrides both. A
# running process takes over new values of the settings marked "reloads" after
# SIGHUP or POST /reload on the operators' port. The others need a restart.
`)
	section := ""
	for _, s := range settings {
		indent, name := "", s.Name
		if parent, child, nested := strings.Cut(s.Name, "."); nested {
			indent, name = "  ", child
			if parent != section {
				section = parent
				fmt.Fprintf(out, "\n%s:\n", section)
			}
		}
		for _, line := range wrap(s.Help, 76) {
			fmt.Fprintf(out, "\n%s## %s", indent, line)
		}
		fmt.Fprintf(out, "\n%s## %s\n", indent, strings.Join(s.sourceNotes(), ", "))
		fmt.Fprintf(out, "%s# %s: %s\n", indent, name, s.yamlDefault())
	}
	for _, t := range Tables() {
		for _, line := range wrap(t.Help+t.ReloadNote()+" Only in this file: a list of mappings.", 76) {
			fmt.Fprintf(out, "\n## %s", line)
		}
		fmt.Fprint(out, "\n## Keys:\n")
		for _, key := range t.Keys {
			for i, line := range wrap(key.Name+": "+key.Help+key.keyNotes(), 72) {
				fmt.Fprintf(out, "##   %s%s\n", strings.Repeat("  ", min(i, 1)), line)
			}
		}
		fmt.Fprintf(out, "## Example:\n##   - %s\n# %s: []\n", t.Example, t.Name)
	}
	return out.Flush()
}

// keyNotes returns the allowed values and the default of a table's key.
func (s Setting) keyNotes() string {
	notes := ""
	switch s.Kind {
	case Choice:
		notes = " One of: " + strings.Join(s.Choices, ", ") + "."
	case Choices:
		notes = " A list of: " + strings.Join(s.Choices, ", ") + "."
	}
	if s.Default != "" {
		notes += " By default " + strings.ReplaceAll(s.Default, ",", ", ") + "."
	}
	return notes
}

// ReloadNote returns the sentence about reloads of the table, beginning with a space, or "" if
// a change needs a restart.
func (t Table) ReloadNote() string {
	if t.Reload {
		return " A reload takes over changes."
	}
	return ""
}

// sourceNotes returns the environment variable, the flag and the allowed values of a
// setting, and whether it reloads.
func (s Setting) sourceNotes() []string {
	notes := []string{s.Variable()}
	if s.Secret {
		notes[0] += " or the file named by " + s.Variable() + "_FILE"
	}
	if s.Flag != "" {
		notes = append(notes, "--"+s.Flag)
	}
	if len(s.Choices) > 0 {
		notes = append(notes, "one of: "+strings.Join(s.Choices, " "))
	}
	if s.Reload {
		notes = append(notes, "reloads")
	}
	return notes
}

var safeScalar = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._/+-]*(:[A-Za-z0-9._/+-]+)*\z`)

// yamlDefault returns the default as YAML.
func (s Setting) yamlDefault() string {
	if s.Kind == Networks {
		return "[" + s.Default + "]"
	}
	return yamlText(s.Default)
}

// yamlText returns YAML that parses to text.
func yamlText(text string) string {
	if safeScalar.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// wrap breaks text at spaces into lines of at most width bytes.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
