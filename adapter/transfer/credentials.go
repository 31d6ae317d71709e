package transfer

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// Credentials imports consumers and tokens, and administrators if the options say so:
// everything or nothing.
func Credentials(ctx context.Context, db *sqlstore.DB, legacy *magento1.Database, o sqlstore.ImportOptions) (sqlstore.ImportReport, error) {
	done, err := db.Credentials().Import(ctx,
		sqlstore.ForeignCredentials{Admins: legacy.Admins(ctx), Consumers: legacy.Consumers(ctx), Tokens: legacy.Tokens(ctx)}, o)
	if err != nil {
		return done, fmt.Errorf("%w\nno credentials are stored", err)
	}
	return done, nil
}
