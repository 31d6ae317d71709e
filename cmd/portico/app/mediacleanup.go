package app

import (
	"context"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	// mediaCleanupEvery is the pause between two searches for uploads without a record.
	mediaCleanupEvery = 24 * time.Hour
	// mediaCleanupAfter is the longest time after the start until the first one, so that replicas
	// that start together do not search together.
	mediaCleanupAfter = 10 * time.Minute
)

// startMediaCleanup removes abandoned uploads and files of images every day until stop is called, which
// waits for the end.
func startMediaCleanup(ctx context.Context, db *sqlstore.DB, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for pause := rand.N(mediaCleanupAfter); ; pause = mediaCleanupEvery {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			removed, err := db.RemoveAbandonedMedia(ctx)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				log.Warn("abandoned uploads of images cannot be removed", "error", err, "tried_again_in", mediaCleanupEvery)
			case removed > 0:
				log.Info("abandoned uploads of images were removed", "objects", removed)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
