package program

import (
	"encoding/json"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// CannotRun wraps an error that kept a command from doing its check. Its exit code differs
// from that of a check that found something.
type CannotRun struct{ Err error }

// Error returns what kept the command from its check.
func (e CannotRun) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e CannotRun) Unwrap() error { return e.Err }

// ExitCannotRun is the exit code for a CannotRun error.
const ExitCannotRun = 2

// WriteResult prints a result: as JSON if the flag --json is set, otherwise as the table
// that f writes.
func WriteResult(cmd *cobra.Command, result any, f func(io.Writer)) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	f(table)
	return table.Flush()
}
