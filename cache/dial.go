package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize is how many connections there may be to a server.
const poolSize = maxTrips + 16

// Dial returns a client for the Redis of a URL, redis://, rediss:// (TLS) or
// unix://; connections are made when they are needed. More addresses (addr=) are
// those of a cluster, with master_name= those of sentinels. timeout bounds each
// step of a round trip. Nothing is tried again, because what reads the cache must
// not wait, and only masters are read, because replicas lag behind. An error does
// not repeat the URL, which may hold a password.
func Dial(address string, timeout time.Duration) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("cache: the Redis URL cannot be read")
	}
	query := u.Query()
	switch {
	case query.Has("master_name"):
		o, err := redis.ParseFailoverURL(address)
		if err != nil {
			return nil, refused(err)
		}
		o.ReplicaOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled, o.PipelinePoolSize = -1, 1, true, -1
		o.DisableIdentity = true
		o.PoolSize = max(o.PoolSize, poolSize)
		return redis.NewFailoverClient(o), nil
	case query.Has("addr"):
		o, err := redis.ParseClusterURL(address)
		if err != nil {
			return nil, refused(err)
		}
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled, o.PipelinePoolSize = -1, 1, true, -1
		o.DisableIdentity, o.MaintNotificationsConfig = true, noNotifications()
		o.PoolSize = max(o.PoolSize, poolSize)
		return redis.NewClusterClient(o), nil
	default:
		o, err := redis.ParseURL(address)
		if err != nil {
			return nil, refused(err)
		}
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled, o.PipelinePoolSize = -1, 1, true, -1
		o.DisableIdentity, o.MaintNotificationsConfig = true, noNotifications()
		o.PoolSize = max(o.PoolSize, poolSize)
		return redis.NewClient(o), nil
	}
}

// refused is the error of a URL that go-redis does not take. Its errors name the
// part they object to; those of net/url repeat the whole.
func refused(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("cache: Redis URL: %w", err)
}

// noNotifications leaves out what only a hosted Redis announces.
func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// LogRedis passes to log, at level debug, what go-redis says of its connections.
// It has one logger for the whole process: this is to be called once, before Dial.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, arguments ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, fmt.Sprintf(format, arguments...))
	}
}
