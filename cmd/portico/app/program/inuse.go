package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/spf13/cobra"
)

// AddWhileRunningFlag adds the flag of commands that replace the store, and refuse to do so while
// processes use it.
func AddWhileRunningFlag(cmd *cobra.Command, whileRunning *bool) {
	cmd.Flags().BoolVar(whileRunning, "while-running", false, "go on although other processes use the database, and let them notice")
}

// ClaimMedia ensures that the folder or bucket of the images belongs to no other database. A bucket
// that cannot be reached is tried again with the first image.
func ClaimMedia(ctx context.Context, db *sqlstore.DB, log *slog.Logger) error {
	err := db.ClaimMedia(ctx)
	if owner, ok := errors.AsType[*media.OwnerError](err); ok {
		return owner
	}
	if err != nil && ctx.Err() == nil {
		log.Warn("where the images are is not marked as the place of this database's yet", "error", err)
	}
	return ctx.Err()
}

// ExplainTakeMedia adds the remedy to an error that images belong to another database.
func ExplainTakeMedia(err error) error {
	owner, ok := errors.AsType[*media.OwnerError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w\nadd --take-media if no other database uses them any more", owner)
}

// ExplainInUse adds the remedy to an error that processes use the database.
func ExplainInUse(err error) error {
	inUse, ok := errors.AsType[*coordination.InUseError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w\nadd --while-running if they may go on: they then notice that everything has changed, and what their clients write meanwhile is lost", inUse)
}
