package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/contracttests"
)

// A listedCase is a case as "contracttest list" shows it.
type listedCase struct {
	Resource string   `json:"resource"`
	Name     string   `json:"name"`
	Formats  []string `json:"formats"`
	Clauses  []string `json:"clauses"`
}

// A listedClause is a clause, and by how much it is shown.
type listedClause struct {
	Clause  string `json:"clause"`
	Section string `json:"section"` // of the specification
	Says    string `json:"says"`
	Rows    int    `json:"rows"`  // of the document's tables
	Cases   int    `json:"cases"` // that show it
	Unshown string `json:"unshown,omitempty"`
}

// A listing is all that "contracttest list" prints.
type listing struct {
	Cases   []listedCase   `json:"cases"`
	Clauses []listedClause `json:"clauses"`
}

func listCommand() *cobra.Command {
	var dialect string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the cases, the clauses each shows, and which clauses none can show",
		Long: `List the cases with the clauses of the contract that each shows, then every clause
with its section of the specification, how many rows of the document's tables it stands for, and how many cases show it,
or why none can.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := contracttests.Dialect(dialect)
			if d != "" && d != contracttests.Documented && d != contracttests.Magento {
				return fmt.Errorf("--dialect is %s or %s, not %q", contracttests.Documented, contracttests.Magento, dialect)
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
	cmd.Flags().StringVar(&dialect, "dialect", "", "only what is tested in one dialect: documented or magento")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newListing(suite *contracttests.Suite, d contracttests.Dialect) *listing {
	l := &listing{}
	shown := map[string]int{}
	for _, r := range suite.Cases(d) {
		if last := len(l.Cases) - 1; last >= 0 && l.Cases[last].Resource == r.Resource && l.Cases[last].Name == r.Name {
			l.Cases[last].Formats = append(l.Cases[last].Formats, r.Format)
			continue
		}
		l.Cases = append(l.Cases, listedCase{Resource: r.Resource, Name: r.Name, Formats: []string{r.Format}, Clauses: r.Clauses})
		for _, name := range r.Clauses {
			shown[name]++
		}
	}
	for _, c := range suite.Coverage(nil) {
		l.Clauses = append(l.Clauses, listedClause{Clause: c.Clause, Section: c.Section, Says: c.Says, Rows: c.Rows, Cases: shown[c.Clause], Unshown: c.Unshown})
	}
	return l
}

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
	rows, shown := 0, 0
	var unshown []listedClause
	for _, c := range l.Clauses {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", c.Clause, c.Section, c.Rows, c.Cases, c.Says)
		rows += c.Rows
		if c.Cases > 0 {
			shown += c.Rows
		} else {
			unshown = append(unshown, c)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d cases; %d of %d rows of the document are shown.\n", len(l.Cases), shown, rows)
	for _, c := range unshown {
		reason := c.Unshown
		if reason == "" {
			reason = "no case shows it"
		}
		fmt.Fprintf(w, "  not shown: %s: %s\n", c.Clause, reason)
	}
	return err
}
