package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// tryCommand returns the command "mapping try".
func tryCommand(p *program.Program) *cobra.Command {
	var resource, id string
	var key int64
	cmd := &cobra.Command{
		Use:   "try [FILE]",
		Short: "Read one record of the backend with a mapping file, and show each step",
		Long: `Read one record of the backend with a mapping file, and show each step: the requests, the
document, the values of the record and of its parts, each with the expression that gave
it, and all values that the record still needs. FILE is as in "portico mapping check".

The backend is that of the configuration: rest.url, rest.user, rest.secret. The command
only sends the requests of a read, and the login if there is one. It needs no database:
references are shown as ids of the backend (group_id_ref), whether or not they have a
legacy id.

--id is the id at the backend. --key is the legacy id, which tries find and key. The
output has the values of the record, which may be personal data. It has no credentials,
unless the mapping sends some in the query or the body of a read.

Exit codes: 0 the record has all that it needs, 1 it lacks something, a value of it does
not fit, or it cannot be read, 2 there is a fault in the mapping file or the
configuration.`,
		Example: `  portico mapping try ./shop.yaml --resource customers --id cus_12
  portico mapping try ./shop.yaml --resource products --key 7 --rest-url http://127.0.0.1:9000`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := mappingOptions(p, cmd, args)
			if err == nil && o.URL == "" {
				err = program.ErrNoRESTURL
			}
			if err != nil {
				return program.CannotRun{Err: err}
			}
			return try(cmd, o, adapter.Resource(resource), id, adapter.Key(key))
		},
	}
	p.AddSettingFlags(cmd, "rest.url", "rest.vars")
	cmd.Flags().StringVar(&resource, "resource", "", "the resource, such as products")
	cmd.Flags().StringVar(&id, "id", "", "the id of the record at the backend")
	cmd.Flags().Int64Var(&key, "key", 0, "the legacy id of the record")
	cmd.Flags().Bool("json", false, "print JSON")
	_ = cmd.MarkFlagRequired("resource") // the flag is defined above
	cmd.MarkFlagsOneRequired("id", "key")
	cmd.MarkFlagsMutuallyExclusive("id", "key")
	return cmd
}

var (
	errLacking  = errors.New("the record lacks values: see above")
	errLeftOut  = errors.New("values of the record are left out: see above")
	errExcluded = errors.New("scans leave the record out: see above")
)

// try reads a record and prints the requests, the replies and the resulting attributes.
func try(cmd *cobra.Command, o reststore.Options, resource adapter.Resource, id string, key adapter.Key) error {
	tried, err := reststore.Try(cmd.Context(), o, resource, id, key)
	if err != nil && len(tried.Requests) == 0 {
		return program.CannotRun{Err: err}
	}
	switch {
	case err != nil:
		err = fmt.Errorf("cannot read the record: %w", err)
	case len(tried.Lacking) > 0:
		err = errLacking
	case len(tried.LeftOut) > 0:
		err = errLeftOut
	case tried.Excluded:
		err = errExcluded
	}
	var text bytes.Buffer
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return errors.Join(program.WriteJSON(cmd.OutOrStdout(), tried), err)
	}
	writeTrial(&text, tried)
	_, _ = io.WriteString(cmd.OutOrStdout(), program.PrintableLines(text.String())) // err is more useful
	return err
}

// writeTrial writes a trial for people.
func writeTrial(w io.Writer, t *reststore.Trial) {
	for _, r := range t.Requests {
		fmt.Fprintf(w, "%s: %s %s\n", r.For, r.Method, r.URL)
		if r.Variables != nil {
			fmt.Fprintf(w, "  variables %s\n", compact(r.Variables))
		}
		if r.Body != nil {
			fmt.Fprintf(w, "  body %s\n", r.Body)
		}
		if r.Status != 0 {
			fmt.Fprintf(w, "  status %d\n", r.Status)
		}
	}
	writeDocument(w, "document", t.Document)
	for _, j := range t.Joined {
		writeDocument(w, "joined as "+j.As, j.Data)
	}
	for _, r := range t.Records {
		writeRecord(w, &r)
	}
	if t.Excluded {
		fmt.Fprint(w, "\nscans leave the record out: where of scan does not hold for the document\n")
	}
	if len(t.LeftOut) > 0 {
		fmt.Fprint(w, "\nleft out\n")
	}
	for _, reason := range t.LeftOut {
		fmt.Fprintf(w, "  %s\n", reason)
	}
	if len(t.Lacking) > 0 {
		fmt.Fprint(w, "\nlacking\n")
	}
	for _, name := range t.Lacking {
		remedy := "map it in items, or give it a value there"
		if strings.HasPrefix(name, string(t.Records[0].Resource)+".") {
			remedy = "map it in read, or give one in rest"
		}
		fmt.Fprintf(w, "  %s has no value and no default: %s\n", name, remedy)
	}
}

// writeDocument writes a document of the backend.
func writeDocument(w io.Writer, title string, document json.RawMessage) {
	if document == nil {
		return
	}
	var indented bytes.Buffer
	if json.Indent(&indented, document, "  ", "  ") == nil {
		fmt.Fprintf(w, "\n%s\n  %s\n", title, indented.Bytes())
	}
}

// writeRecord writes a record with its values.
func writeRecord(w io.Writer, r *reststore.TrialRecord) {
	fmt.Fprintf(w, "\n%s", r.Resource)
	if r.ID != "" {
		fmt.Fprintf(w, " %q", r.ID)
	}
	if r.Store != "" {
		fmt.Fprintf(w, " at the store view %q", r.Store)
	}
	if r.Key != 0 {
		fmt.Fprintf(w, ", which carries the legacy id %d", r.Key)
	}
	if !r.Imported {
		fmt.Fprint(w, ", which is not imported if only the backend has it: there is no adopts: true")
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range r.Values {
		from := v.From
		if v.Refers != "" {
			from += ", an id of " + string(v.Refers)
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\n", v.Attribute, from, compact(v.Value))
	}
	_ = table.Flush() // into memory
}

// compact returns a value as JSON in one line.
func compact(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // it is made of decoded JSON
	return strings.TrimSpace(b.String())
}
