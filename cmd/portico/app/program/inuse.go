package program

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/sqlstore/importwatch"
)

// AddWhileRunningFlag adds the flag of commands that replace the store, and refuse to do so while
// processes use it.
func AddWhileRunningFlag(cmd *cobra.Command, whileRunning *bool) {
	cmd.Flags().BoolVar(whileRunning, "while-running", false, "go on although other processes use the database, and let them notice")
}

// ExplainInUse adds to an error that processes use the database what to do about it.
func ExplainInUse(err error) error {
	inUse, ok := errors.AsType[*importwatch.InUseError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w\nadd --while-running if they may go on: they then notice that everything has changed, and what their clients write meanwhile is lost", inUse)
}
