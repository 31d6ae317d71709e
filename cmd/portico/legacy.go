package main

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
	// legacyDomain names the old system as a failure domain.
	legacyDomain = "legacy"
	// legacyCall bounds a call of the old system up to the headers of its reply. The
	// real bounds are those of the server, for a client that sends slowly, and
	// legacy.timeout, for the old system.
	legacyCall = 24 * time.Hour
)

// legacy is the old system as the program is wired to it. Where none is configured
// there are no rules, and system and guard are nil.
type legacy struct {
	rules  passthrough.Rules
	system *passthrough.System
	guard  *guard.Guard
	auth   mapping.LegacyAuth
	signer *auth.Signer
}

// newLegacy returns the old system of cfg.
func newLegacy(cfg *config.Config, metrics *guard.Metrics, circuits *breakers, log *slog.Logger) (*legacy, error) {
	l := &legacy{rules: rulesOf(cfg.Routes)}
	if cfg.Legacy.URL == "" {
		return l, nil
	}
	base, err := url.Parse(cfg.Legacy.URL)
	if err != nil {
		return nil, errors.New("legacy.url: not a URL") // the error would repeat it
	}
	circuits.add(legacyDomain)
	l.guard = guard.New(metrics, guard.Options{
		Name:          legacyDomain,
		Timeout:       legacyCall,
		MaxInFlight:   cfg.Legacy.MaxInFlight,
		MaxWait:       cfg.Upstream.MaxWait,
		Failures:      cfg.Upstream.BreakerFailures,
		OpenFor:       cfg.Upstream.BreakerOpen,
		OnStateChange: circuits.telling(log),
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
	l.system = passthrough.New(passthrough.Options{
		URL:      base,
		BasePath: cfg.BasePath(),
		KeepHost: l.auth == mapping.UnchangedSignature,
		Timeout:  cfg.Legacy.Timeout,
		MaxIdle:  cfg.Legacy.MaxInFlight,
		Guard:    l.guard.Do,
	})
	return l, nil
}

// rulesOf returns the rules that the table routes holds.
func rulesOf(routes []config.Route) passthrough.Rules {
	calls := map[string]passthrough.Calls{"all": passthrough.All, "reads": passthrough.Reads, "writes": passthrough.Writes}
	sides := map[string]passthrough.Target{"portico": passthrough.Portico, "legacy": passthrough.Legacy}
	var rules passthrough.Rules
	for _, r := range routes {
		rules = append(rules, passthrough.Rule{Resource: r.Resource, Calls: calls[r.Calls], To: sides[r.To], Shadow: r.Shadow})
	}
	return rules
}

// routesText tells the table routes in words.
func routesText(routes []config.Route) []string {
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
	}
	return texts
}

// ping returns what tells whether requests can be answered: ping, unless the adapter
// answers nothing at all.
func (l *legacy) ping(ping func(context.Context) error) func(context.Context) error {
	if l.auth != mapping.UnchangedSignature || !l.rules.AllLegacy() {
		return ping
	}
	return func(context.Context) error {
		if l.guard.Open() {
			return errors.New("the old system is cut off")
		}
		return nil
	}
}

// close closes what is kept open to the old system.
func (l *legacy) close() {
	if l.system != nil {
		l.system.Close()
	}
}
