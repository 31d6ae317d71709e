package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// A Row is one setting as it is in force.
type Row struct {
	Name        string `json:"name"`
	Value       string `json:"value"`  // a secret: "(set)" or "(not set)", unless it is the default
	Source      string `json:"source"` // "default", "portico.yaml:3", "environment PORTICO_LISTEN", "flag --listen"
	Default     string `json:"default"`
	Environment string `json:"environment,omitempty"` // none: only in the file
	Flag        string `json:"flag,omitempty"`        // "--listen"
	Secret      bool   `json:"secret"`
	Help        string `json:"help"`
}

// Rows returns every setting in the order of [Settings], then every entry of each
// of the [Tables], as YAML; a table without entries has one row without a value.
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
			Help:        s.Help,
		}
		if s.Flag != "" {
			rows[i].Flag = "--" + s.Flag
		}
		if s.Secret {
			rows[i].Value = hidden(v.text, s.Default)
		}
	}
	for _, t := range Tables() {
		for _, e := range l.entries[t.Name] {
			rows = append(rows, Row{Name: e.name, Value: e.text(t), Source: e.origin, Help: t.Help})
		}
		if len(l.entries[t.Name]) == 0 {
			rows = append(rows, Row{Name: t.Name, Source: cmp.Or(l.origins[t.Name], "default"), Help: t.Help})
		}
	}
	return rows
}

// hidden returns what is shown of a secret. A default is none.
func hidden(secret, byDefault string) string {
	switch secret {
	case "":
		return "(not set)"
	case byDefault:
		return secret
	default:
		return "(set)"
	}
}

// WriteTable writes rows as a table with aligned columns; an empty cell is "-".
func WriteTable(w io.Writer, rows []Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tSOURCE\tDEFAULT\tENVIRONMENT\tFLAG")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, cell(r.Value), cell(r.Source), cell(r.Default), cell(r.Environment), cell(r.Flag))
	}
	return table.Flush()
}

func cell(text string) string { return cmp.Or(printable(text), "-") }

// WriteJSON writes rows as an indented JSON array.
func WriteJSON(w io.Writer, rows []Row) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(rows)
}
