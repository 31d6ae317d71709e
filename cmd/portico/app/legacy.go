package app

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/passthrough"
)

const (
	// legacyDomain is the name of the legacy system as a failure domain.
	legacyDomain = "legacy"
	// legacyCallTimeout limits a call of the legacy system until the headers of its reply
	// arrive. It is only a backstop: the server's settings limit a client that sends
	// slowly, and legacy.timeout limits the legacy system.
	legacyCallTimeout = 24 * time.Hour
)

// A legacySystem is the legacy system as the other parts of the program use it. If none is
// configured, client and guard are nil.
type legacySystem struct {
	client *passthrough.System
	guard  *guard.Guard
	auth   mapping.LegacyAuth
	signer *auth.Signer
}

// newLegacy returns the legacy system that cfg configures. It sends nothing.
func newLegacy(cfg *config.Config, metrics *guard.Metrics, breakers *breakerMetrics, log *slog.Logger) (*legacySystem, error) {
	l := &legacySystem{}
	if cfg.Legacy.URL == "" {
		return l, nil
	}
	base, err := url.Parse(cfg.Legacy.URL)
	if err != nil {
		return nil, errors.New("legacy.url: not a URL") // the error would repeat it
	}
	breakers.add(legacyDomain)
	l.guard = guard.New(metrics, guard.Options{
		Name:          legacyDomain,
		Timeout:       legacyCallTimeout,
		MaxInFlight:   cfg.Legacy.MaxInFlight,
		MaxWait:       cfg.Upstream.MaxWait,
		Failures:      cfg.Upstream.BreakerFailures,
		OpenFor:       cfg.Upstream.BreakerOpen,
		OnStateChange: breakers.onUpstreamChange(log),
	})
	for _, resource := range append(contract.StandardFields().Resources(false), passthrough.Outside) {
		l.guard.InitMetrics(resource, passthrough.OperationRead, passthrough.OperationWrite)
	}
	switch cfg.Legacy.Auth {
	case "caller":
		l.auth = mapping.CallerSignature
	case "own":
		l.auth = mapping.AdminSignature
		l.signer = auth.NewSigner(cfg.Legacy.ConsumerKey, cfg.Legacy.ConsumerSecret, cfg.Legacy.Token, cfg.Legacy.TokenSecret)
	}
	l.client = passthrough.New(passthrough.Options{
		URL:      base,
		BasePath: cfg.BasePath(),
		KeepHost: l.auth == mapping.UnchangedSignature,
		Timeout:  cfg.Legacy.Timeout,
		MaxIdle:  cfg.Legacy.MaxInFlight,
		Guard:    l.guard.Do,
	})
	return l, nil
}

// newRules converts the setting routes to rules.
func newRules(routes []config.Route) passthrough.Rules {
	calls := map[string]passthrough.Calls{"all": passthrough.All, "reads": passthrough.Reads, "writes": passthrough.Writes}
	targets := map[string]passthrough.Target{"portico": passthrough.Portico, "legacy": passthrough.Legacy}
	var rules passthrough.Rules
	for _, r := range routes {
		rules = append(rules, passthrough.Rule{Resource: r.Resource, Calls: calls[r.Calls], To: targets[r.To], Shadow: r.Shadow, Mirror: r.Mirror})
	}
	return rules
}

// describeRoutes returns one phrase for each route, such as "products reads to legacy,
// shadowed".
func describeRoutes(routes []config.Route) []string {
	texts := make([]string, len(routes))
	for i, r := range routes {
		texts[i] = r.Resource
		if r.Calls != "all" {
			texts[i] += " " + r.Calls
		}
		texts[i] += " to " + r.To
		if r.Shadow {
			texts[i] += ", shadowed"
		}
		if r.Mirror {
			texts[i] += ", mirrored"
		}
	}
	return texts
}

// wrapPing returns the readiness check of the program. This is ping, the check of the
// upstream, while the legacy system does not answer all calls under the rules in force.
// Otherwise it checks that the breaker of the legacy system is not open.
func (l *legacySystem) wrapPing(ping func(context.Context) error, rules func() passthrough.Rules) func(context.Context) error {
	return func(ctx context.Context) error {
		if l.auth != mapping.UnchangedSignature || !rules().AllLegacy() {
			return ping(ctx)
		}
		if l.guard.Open() {
			return errors.New("the breaker of the legacy system is open")
		}
		return nil
	}
}

// close closes the idle connections to the legacy system.
func (l *legacySystem) close() {
	if l.client != nil {
		l.client.Close()
	}
}
