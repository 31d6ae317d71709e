package app

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/legacy/follow"
)

// followRetry is the time after which "portico serve" tries again to begin to follow.
const followRetry = time.Minute

// followWrites returns a function that waits until the store has the changes of a forwarded write.
// It returns nil if replies do not wait and writes cannot be mirrored.
func followWrites(cfg *config.Config, writes *follow.Writes) func(context.Context, mapping.GateWrite) {
	if writes == nil || cfg.Follow.Wait == 0 && !program.CanMirror(cfg) {
		return nil
	}
	return func(ctx context.Context, w mapping.GateWrite) { writes.Await(ctx, w.Resource, w.Keys...) }
}

// startFollower follows a legacy store until stop is called; stop waits for the follower to end. If
// following fails, it is retried later; the contract is served meanwhile.
func startFollower(ctx context.Context, cfg *config.Config, follower *follow.Follower, log *slog.Logger) (stop func()) {
	return inBackground(ctx, func(ctx context.Context) {
		for ctx.Err() == nil {
			if err := program.ExplainFollowing(cfg, follower.Run(ctx)); err != nil {
				log.Error("the legacy store cannot be followed", "error", err, "tried_again_in", followRetry)
				select {
				case <-ctx.Done():
				case <-time.After(followRetry):
				}
			}
		}
	})
}

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
	return inBackground(ctx, func(ctx context.Context) {
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
	})
}

// inBackground runs a function until stop is called, which waits for its end.
func inBackground(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
