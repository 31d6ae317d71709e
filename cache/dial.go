package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize is the maximum number of connections to a server.
const poolSize = maxLookups + 16

// Dial returns a client for the Redis at a URL: redis://, rediss:// (TLS) or unix://.
// Connections are opened on demand. Further addresses (addr=) belong to a cluster, or with
// master_name= to sentinels. timeout limits each step of a round trip. Commands are not
// retried, because readers must not wait, and are sent to masters only, because replicas
// lag behind. Errors do not contain the URL, which may contain a password.
func Dial(address string, timeout time.Duration) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("cache: the Redis URL is invalid")
	}
	query := u.Query()
	switch {
	case query.Has("master_name"):
		o, err := redis.ParseFailoverURL(address)
		if err != nil {
			return nil, urlError(err)
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
			return nil, urlError(err)
		}
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled, o.PipelinePoolSize = -1, 1, true, -1
		o.DisableIdentity, o.MaintNotificationsConfig = true, disableNotifications()
		o.PoolSize = max(o.PoolSize, poolSize)
		return redis.NewClusterClient(o), nil
	default:
		o, err := redis.ParseURL(address)
		if err != nil {
			return nil, urlError(err)
		}
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled, o.PipelinePoolSize = -1, 1, true, -1
		o.DisableIdentity, o.MaintNotificationsConfig = true, disableNotifications()
		o.PoolSize = max(o.PoolSize, poolSize)
		return redis.NewClient(o), nil
	}
}

// Location returns the hosts and ports of a Redis URL that [Dial] takes, or the path of its
// socket, for logs. It returns "" if the URL is invalid.
func Location(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "unix":
		return u.Path
	default:
		return strings.Join(append([]string{u.Host}, u.Query()["addr"]...), ",")
	}
}

// urlError returns the error for a URL that go-redis rejects. Errors of go-redis contain only the
// invalid part; errors of net/url contain the whole URL, so it is removed.
func urlError(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("cache: Redis URL: %w", err)
}

// disableNotifications disables the maintenance notifications of hosted Redis services.
func disableNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// LogRedis sends go-redis's log messages to log at level debug. go-redis has one logger
// per process, so call it once, before Dial.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, arguments ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, fmt.Sprintf(format, arguments...))
	}
}
