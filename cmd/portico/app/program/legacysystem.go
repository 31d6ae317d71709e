package program

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

const (
	// LegacyDomain is the name of the legacy store as a failure domain.
	LegacyDomain = "legacy"
	// legacyCallTimeout limits a call of the legacy store until the headers of its reply arrive. It
	// is only a backstop: the server's settings limit a client that sends slowly, and
	// legacy.timeout limits the legacy store.
	legacyCallTimeout = 24 * time.Hour
)

// A LegacySystem is the legacy store as the other parts of the program use it. If none is
// configured, client and guard are nil.
type LegacySystem struct {
	Client *proxy.System
	guard  *guard.Guard
	Auth   mapping.LegacyAuth
	Signer *auth.Signer
}

// NewLegacySystem returns the legacy store that cfg configures, and sends it nothing. It calls
// onChange whenever the state of the system's breaker changes.
func NewLegacySystem(cfg *config.Config, metrics *guard.Metrics, onChange func(domain, state string)) (*LegacySystem, error) {
	l := &LegacySystem{}
	if cfg.Legacy.URL == "" {
		return l, nil
	}
	base, err := url.Parse(cfg.Legacy.URL)
	if err != nil {
		return nil, errors.New("legacy.url: not a URL") // the error would repeat it
	}
	l.guard = guard.New(metrics, guard.Options{
		Name:          LegacyDomain,
		Timeout:       legacyCallTimeout,
		MaxInFlight:   cfg.Legacy.MaxInFlight,
		MaxWait:       cfg.Upstream.MaxWait,
		Failures:      cfg.Upstream.BreakerFailures,
		OpenFor:       cfg.Upstream.BreakerOpen,
		OnStateChange: onChange,
	})
	for _, resource := range append(contract.StandardFields().Resources(false), proxy.Outside) {
		l.guard.InitMetrics(resource, proxy.OperationRead, proxy.OperationWrite)
	}
	switch cfg.Legacy.Auth {
	case "caller":
		l.Auth = mapping.CallerSignature
	case "own":
		l.Auth = mapping.AdminSignature
		l.Signer = auth.NewSigner(cfg.Legacy.ConsumerKey, cfg.Legacy.ConsumerSecret, cfg.Legacy.Token, cfg.Legacy.TokenSecret)
	}
	l.Client = proxy.New(proxy.Options{
		URL:      base,
		BasePath: cfg.BasePath(),
		KeepHost: l.Auth == mapping.UnchangedSignature,
		Timeout:  cfg.Legacy.Timeout,
		MaxIdle:  cfg.Legacy.MaxInFlight,
		Guard:    l.guard.Do,
	})
	return l, nil
}

// WrapPing returns the readiness check of the program. This is ping, the check of the upstream,
// while the legacy store does not answer all calls under the rules in force. Otherwise it checks
// that the breaker of the legacy store is not open.
func (l *LegacySystem) WrapPing(ping func(context.Context) error, rules func() proxy.Rules) func(context.Context) error {
	return func(ctx context.Context) error {
		if l.Auth != mapping.UnchangedSignature || !rules().AllLegacy() {
			return ping(ctx)
		}
		if l.guard.Open() {
			return errors.New("the breaker of the legacy store is open")
		}
		return nil
	}
}

// Close closes the idle connections to the legacy store.
func (l *LegacySystem) Close() {
	if l.Client != nil {
		l.Client.Close()
	}
}

// ExplainFollowing adds the setting that may help to an error of connecting.
func ExplainFollowing(cfg *config.Config, err error) error {
	if errors.Is(err, magento1.ErrOldTLS) && !cfg.Follow.OldTLS {
		return fmt.Errorf("%w: add --old-tls, or set follow.old_tls", err)
	}
	return err
}
