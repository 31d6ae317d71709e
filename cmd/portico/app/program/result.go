package program

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
)

// CannotRun wraps an error that prevented a command from doing its check. Its exit code differs
// from that of a check that found something.
type CannotRun struct{ Err error }

// Error returns the message of the wrapped error.
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
		return WriteJSON(cmd.OutOrStdout(), result)
	}
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	f(table)
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), PrintableLines(text.String()))
	return err
}

// WriteJSON writes a result as indented JSON, for programs and for people.
func WriteJSON(w io.Writer, result any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

// Printable returns a text from outside, such as a name in the store, with U+FFFD in place of each
// control or invisible character. This includes line breaks, which would begin another row of a
// table.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// PrintableLines is [Printable] for a text of several lines.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Printable(line)
	}
	return strings.Join(lines, "\n")
}
