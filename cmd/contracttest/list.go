package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/spf13/cobra"
)

// A listedCase is a case in the output of "contracttest list".
type listedCase struct {
	Resource string   `json:"resource"`
	Name     string   `json:"name"`
	Formats  []string `json:"formats"`
	Clauses  []string `json:"clauses"`
}

// A listedClause is a clause in the output of "contracttest list".
type listedClause struct {
	Clause     string `json:"clause"`
	Section    string `json:"section"` // of the specification
	Says       string `json:"says"`
	Rows       int    `json:"rows"`  // number of rows of the document's tables
	Cases      int    `json:"cases"` // number of cases that cover it
	Untestable string `json:"unshown,omitempty"`
}

// A listing is the output of "contracttest list".
type listing struct {
	Cases   []listedCase   `json:"cases"`
	Clauses []listedClause `json:"clauses"`
}

// listCommand returns the command "contracttest list".
func listCommand() *cobra.Command {
	var dialect string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the cases and the clauses of the contract that they cover",
		Long: `List the cases with the clauses of the contract that each covers. Then list every
clause with its section of the specification, the number of rows of the document's
tables that it stands for, and the number of cases that cover it, or why none can.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := contracttests.Dialect(dialect)
			if err := d.Check(); d != "" && err != nil {
				return fmt.Errorf("--dialect: %w", err)
			}
			suite, err := contracttests.NewSuite()
			if err != nil {
				return err
			}
			l := newListing(suite, d)
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetEscapeHTML(false)
				encoder.SetIndent("", "  ")
				return encoder.Encode(l)
			}
			return l.write(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&dialect, "dialect", "", "list only the cases of one `DIALECT`: documented, magento or openmage")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newListing returns the cases of dialect d, or of all if d is empty, and all clauses with the
// number of these cases that cover them.
func newListing(suite *contracttests.Suite, d contracttests.Dialect) *listing {
	l := &listing{}
	covered := map[string]int{}
	for _, r := range suite.Cases(d) {
		if last := len(l.Cases) - 1; last >= 0 && l.Cases[last].Resource == r.Resource && l.Cases[last].Name == r.Name {
			l.Cases[last].Formats = append(l.Cases[last].Formats, r.Format)
			continue
		}
		l.Cases = append(l.Cases, listedCase{Resource: r.Resource, Name: r.Name, Formats: []string{r.Format}, Clauses: r.Clauses})
		for _, name := range r.Clauses {
			covered[name]++
		}
	}
	for _, c := range suite.Coverage(nil) {
		l.Clauses = append(l.Clauses, listedClause{Clause: c.Clause, Section: c.Section, Says: c.Says, Rows: c.Rows, Cases: covered[c.Clause], Untestable: c.Untestable})
	}
	return l
}

// write writes the listing as text.
func (l *listing) write(w io.Writer) error {
	resource := ""
	for _, c := range l.Cases {
		if c.Resource != resource {
			resource = c.Resource
			fmt.Fprintf(w, "%s\n", resource)
		}
		fmt.Fprintf(w, "  %s (%s)\n      %s\n", c.Name, strings.Join(c.Formats, ", "), strings.Join(c.Clauses, "; "))
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CLAUSE\tSECTION\tROWS\tCASES\tSAYS")
	rows, covered := 0, 0
	var uncovered []listedClause
	for _, c := range l.Clauses {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", c.Clause, c.Section, c.Rows, c.Cases, c.Says)
		rows += c.Rows
		if c.Cases > 0 {
			covered += c.Rows
		} else {
			uncovered = append(uncovered, c)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d cases; %d of %d rows of the document are covered.\n", len(l.Cases), covered, rows)
	for _, c := range uncovered {
		reason := cmp.Or(c.Untestable, "no case covers it")
		fmt.Fprintf(w, "  not covered: %s: %s\n", c.Clause, reason)
	}
	return err
}
