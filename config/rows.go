package config

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Row is the current value of one setting, for listings.
type Row struct {
	Name        string `json:"name"`
	Value       string `json:"value"`  // for secrets "(set)" or "(not set)", unless it is the default
	Source      string `json:"source"` // "default", "portico.yaml:3", "environment PORTICO_LISTEN", "flag --listen"
	Default     string `json:"default"`
	Environment string `json:"environment,omitempty"` // environment variable; empty for tables
	Flag        string `json:"flag,omitempty"`        // "--listen"
	Secret      bool   `json:"secret"`
	Reload      bool   `json:"reload"` // whether a reload applies a new value
	Help        string `json:"help"`
}

// Rows returns every setting in the order of [Settings], then the entries of each of the
// [Tables] as YAML. A table without entries has one row without a value.
func (c *Config) Rows() []Row { return c.rows }

func (l *loader) rows() []Row {
	rows := make([]Row, len(l.settings))
	for i, s := range l.settings {
		v := l.values[s.Name]
		rows[i] = Row{
			Name:        s.Name,
			Value:       v.text,
			Source:      v.origin,
			Default:     s.Default,
			Environment: s.Variable(),
			Secret:      s.Secret,
			Reload:      s.Reload,
			Help:        s.Help,
		}
		if s.Flag != "" {
			rows[i].Flag = "--" + s.Flag
		}
		if s.Secret {
			rows[i].Value = maskSecret(v.text, s.Default)
		}
	}
	for _, t := range Tables() {
		for _, e := range l.entries[t.Name] {
			rows = append(rows, Row{Name: e.name, Value: e.text(t), Source: e.origin, Reload: t.Reload, Help: t.Help})
		}
		if len(l.entries[t.Name]) == 0 {
			rows = append(rows, Row{Name: t.Name, Source: l.tableOrigin(t), Reload: t.Reload, Help: t.Help})
		}
	}
	return rows
}

// maskSecret returns the text that listings show for a secret. Defaults are not secret.
func maskSecret(secret, defaultValue string) string {
	switch secret {
	case "":
		return "(not set)"
	case defaultValue:
		return secret
	default:
		return "(set)"
	}
}

// Changed returns the rows whose value is not the default.
func Changed(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Source == defaultOrigin })
}

// tableWidth is the maximum width of a table in characters.
const tableWidth = 100

// WriteTable writes rows as a table with at most 100 characters per line. Long cells,
// except names, continue in the next line. An empty cell is shown as "-". The column RELOAD
// has "yes" for settings that a reload applies. Environment variables, which follow from
// the names, and flags are omitted.
func WriteTable(w io.Writer, rows []Row) error {
	cells := [][]string{{"SETTING", "VALUE", "SOURCE", "DEFAULT", "RELOAD"}}
	for _, r := range rows {
		cells = append(cells, []string{r.Name, displayCell(r.Value), displayCell(r.Source), displayCell(r.Default), displayReload(r.Reload)})
	}
	widths := columnWidths(cells)
	var table strings.Builder
	for _, row := range cells {
		for more := true; more; {
			more = false
			var line strings.Builder
			for i, width := range widths {
				var text string
				text, row[i] = wrapCell(row[i], width)
				more = more || row[i] != ""
				fmt.Fprintf(&line, "%-*s", width+columnGap, text)
			}
			table.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
	_, err := io.WriteString(w, table.String())
	return err
}

// columnGap is the number of spaces between columns.
const columnGap = 2

// columnWidths returns column widths that fit in a line. It shrinks the widest columns,
// but never the first.
func columnWidths(cells [][]string) []int {
	widths := make([]int, len(cells[0]))
	total := columnGap * (len(widths) - 1)
	for i := range widths {
		for _, row := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i]
	}
	for ; total > tableWidth; total-- {
		widest := slices.Max(widths[1:])
		widths[1+slices.Index(widths[1:], widest)]--
	}
	return widths
}

// wrapCell splits a text after at most width characters: preferably after a space, then
// after other punctuation, if there is any in the second half.
func wrapCell(text string, width int) (line, rest string) {
	runes := []rune(text)
	if len(runes) <= width {
		return text, ""
	}
	for _, marks := range []string{" ", "_,./:-"} {
		for at := width; at > width/2; at-- {
			if strings.ContainsRune(marks, runes[at-1]) {
				return strings.TrimRight(string(runes[:at]), " "), string(runes[at:])
			}
		}
	}
	return string(runes[:width]), string(runes[width:])
}

func displayCell(text string) string { return cmp.Or(quoteIfNeeded(text), "-") }

func displayReload(reload bool) string {
	if reload {
		return "yes"
	}
	return "-"
}
