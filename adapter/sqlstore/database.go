package sqlstore

import (
	"context"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"sync/atomic"
)

// A Database is the database to which transactions of records write.
type Database struct {
	*engine.DB
	*RecordSet
	media           media.Store // nil: images cannot be stored
	mediaObjects    bool        // the rows of media files have the keys of objects
	hasListingTable bool        // product_listing is a table, which needs updates, not a view
	growth          growth
}

// newDatabase wraps db with the record layout and media store. Kinds: Unavailable, Internal.
func newDatabase(ctx context.Context, db *engine.DB, records *RecordSet, media media.Store) (*Database, error) {
	isTable, err := db.IsTable(ctx, "product_listing")
	return &Database{DB: db, RecordSet: records, media: media, mediaObjects: media != nil && media.HasObjects(), hasListingTable: isTable}, err
}

// Media returns the media store, or nil if there is none.
func (db *Database) Media() media.Store { return db.media }

// A growth counts the records that imports of this process have created. PostgreSQL renews
// the statistics of its tables from time to time; without them it mistakes the few rows
// that a batch concerns for most of a table, and reads all of it for every batch.
type growth struct{ created atomic.Int64 }
