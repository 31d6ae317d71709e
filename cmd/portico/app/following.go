package app

import (
	"context"
	"log/slog"
	"time"

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
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := program.ExplainFollowing(cfg, follower.Run(ctx)); err != nil {
				log.Error("the legacy store cannot be followed", "error", err, "tried_again_in", followRetry)
				select {
				case <-ctx.Done():
				case <-time.After(followRetry):
				}
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
