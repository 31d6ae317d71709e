package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// A liveConfig is a configuration that can be read again while the program runs.
type liveConfig struct {
	load   func() (*config.Config, error) // reads file, environment and flags
	level  *slog.LevelVar                 // of the log
	hangup <-chan os.Signal               // SIGHUP
}

// newLiveConfig returns the configuration that load reads. From now on SIGHUP does not end the
// process, even during a long start or stop.
func newLiveConfig(load func() (*config.Config, error)) *liveConfig {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // until the process ends: no Stop
	return &liveConfig{load, new(slog.LevelVar), hangup}
}

// Outcomes of a reload.
const (
	reloadApplied = "applied"
	reloadRefused = "refused"
)

// A reloader replaces the configuration of a running program, as a whole or not at all.
type reloader struct {
	live     *liveConfig
	rules    *ruleSets
	log      *slog.Logger
	outcomes *prometheus.CounterVec
	applied  prometheus.Gauge
	succeeds prometheus.Gauge // 1 or 0

	mu     sync.Mutex
	config *config.Config // in force
	ended  bool           // the program stops
}

// inForce returns the configuration under which the program runs.
func (r *reloader) inForce() *config.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.config
}

// newReloader returns the reloader of a program that runs with cfg.
func newReloader(live *liveConfig, a *app, cfg *config.Config, log *slog.Logger) *reloader {
	register := promauto.With(a.ops.registry)
	r := &reloader{
		live: live, rules: a.rules, log: log, config: cfg,
		outcomes: register.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_config_reloads_total",
			Help: "Reloads of the configuration, by outcome: applied, also if nothing had changed, or refused.",
		}, []string{"outcome"}),
		applied: register.NewGauge(prometheus.GaugeOpts{
			Name: "portico_config_last_reload_success_timestamp_seconds",
			Help: "Unix time at which the configuration in force was read: that of the start or of the last reload that was not refused.",
		}),
		succeeds: register.NewGauge(prometheus.GaugeOpts{
			Name: "portico_config_last_reload_successful",
			Help: "0 if the last reload of the configuration was refused, otherwise 1.",
		}),
	}
	for _, outcome := range []string{reloadApplied, reloadRefused} {
		r.outcomes.WithLabelValues(outcome)
	}
	r.applied.SetToCurrentTime()
	r.succeeds.Set(1)
	return r
}

// onHangup reloads the configuration at each signal, until the caller calls stop, which waits
// for a reload in progress. All reloads after that are refused.
func (r *reloader) onHangup(hangup <-chan os.Signal) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			select {
			case <-hangup:
				_, _ = r.reload("signal SIGHUP") // it logs its errors
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		waiting.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended = true
	}
}

// reload reads the configuration and applies it. by names the source of the request for the log. It
// returns the names of the settings that have changed. After an error, whose faults Faults returns,
// the former configuration remains in force unchanged.
func (r *reloader) reload(by string) (changed []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, errors.New("the program stops")
	}
	next, err := r.live.load()
	if err == nil {
		changed, err = r.config.Reload(next)
	}
	if err == nil && len(changed) > 0 {
		err = placed(r.rules.replace(next), next)
	}
	if err != nil {
		r.outcomes.WithLabelValues(reloadRefused).Inc()
		r.succeeds.Set(0)
		for _, fault := range program.Faults(err) {
			r.log.Error("configuration not reloaded", "by", by, "fault", fault.String())
		}
		return nil, err
	}
	r.config = next
	r.outcomes.WithLabelValues(reloadApplied).Inc()
	r.applied.SetToCurrentTime()
	r.succeeds.Set(1)
	// With the more verbose of the two log levels, so that a change of the level is logged.
	r.live.level.Set(min(next.LogLevel, r.live.level.Level()))
	r.log.Info("configuration reloaded", "by", by, "changed", changed)
	r.live.level.Set(next.LogLevel)
	return changed, nil
}

// A settingError is the error of a setting whose value is valid but cannot be used.
type settingError struct {
	setting string
	err     error
}

// Error returns the problem and its remedy.
func (e *settingError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *settingError) Unwrap() error { return e.err }

// placed returns err with the place of its setting in the configuration if it is a settingError.
func placed(err error, cfg *config.Config) error {
	unusable, ok := errors.AsType[*settingError](err)
	if !ok {
		return err
	}
	fault := config.Fault{Setting: unusable.setting, Problem: unusable.Error()}
	rows := cfg.Rows()
	if at := slices.IndexFunc(rows, func(r config.Row) bool { return r.Name == fault.Setting }); at >= 0 {
		fault.Origin = rows[at].Source
	}
	return config.Faults{fault}
}
