package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
	"github.com/portico-commerce/portico/mapping/redact"
)

// newMasker returns a masker with a random key, which is lost when the program ends: its masks
// cannot be reversed afterwards.
func newMasker(table *contract.Table) *redact.Masker {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return redact.NewMasker(table, key)
}

// A recorderPool holds the open recorders by folder. Rule sets with the same folder share its
// recorders, so that no two of them write the same file.
type recorderPool struct {
	masker   *redact.Masker
	registry prometheus.Registerer
	log      *slog.Logger

	mu       sync.Mutex
	outcomes *prometheus.CounterVec // nil before the first recorder
	open     map[string]*recorders
}

// recorders are the counter of usage and the recorder of exchanges in a folder.
type recorders struct {
	counter  *recording.Counter
	recorder *recording.Recorder
	users    int // rule sets
}

func newRecorderPool(masker *redact.Masker, registry prometheus.Registerer, log *slog.Logger) *recorderPool {
	return &recorderPool{masker: masker, registry: registry, log: log, open: map[string]*recorders{}}
}

// acquire returns the recorders of record.dir, which must be set, and opens them if no other
// rule set has them. Call release after the last request of the rule set.
func (p *recorderPool) acquire(cfg *config.Config) (*recorders, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := filepath.Clean(cfg.Record.Dir)
	r := p.open[dir]
	if r == nil {
		var err error
		if r, err = p.openFolder(cfg); err != nil {
			return nil, err
		}
		p.open[dir] = r
	}
	r.users++
	return r, nil
}

// release closes the recorders if no other rule set uses them. They then flush their buffers.
func (p *recorderPool) release(cfg *config.Config) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := filepath.Clean(cfg.Record.Dir)
	r := p.open[dir]
	if r.users--; r.users > 0 {
		return nil
	}
	delete(p.open, dir)
	return errors.Join(r.recorder.Close(), r.counter.Close())
}

// openFolder opens the recorders of record.dir.
func (p *recorderPool) openFolder(cfg *config.Config) (*recorders, error) {
	p.initMetrics()
	instance, err := instanceName(cfg.Listen)
	if err != nil {
		return nil, err
	}
	explain := func(err error) error {
		return &settingError{"record.dir", fmt.Errorf("%w\nset record.dir (PORTICO_RECORD_DIR) to a folder that the program may write to", err)}
	}
	counter, err := recording.NewCounter(recording.CounterOptions{Dir: cfg.Record.Dir, Instance: instance, Log: p.log})
	if err != nil {
		return nil, explain(err)
	}
	recorder, err := recording.NewRecorder(recording.Options{
		Dir: filepath.Join(cfg.Record.Dir, recording.ExchangesFolder), Instance: instance, Mask: p.masker,
		Bases: []string{cfg.PublicURL, cfg.Legacy.URL}, BasePath: cfg.BasePath(), Limits: recordLimits(cfg),
		Count: func(outcome string) { p.outcomes.WithLabelValues(outcome).Inc() }, Log: p.log,
	})
	if err != nil {
		return nil, errors.Join(explain(err), counter.Close())
	}
	return &recorders{counter: counter, recorder: recorder}, nil
}

// initMetrics registers the metrics with the first recorder.
func (p *recorderPool) initMetrics() {
	if p.outcomes != nil {
		return
	}
	p.outcomes = promauto.With(p.registry).NewCounterVec(prometheus.CounterOpts{
		Name: "portico_recorded_exchanges_total",
		Help: "Exchanges selected for recording, by outcome: written, dropped, limited or unreadable.",
	}, []string{"outcome"})
	for _, outcome := range recording.Outcomes() {
		p.outcomes.WithLabelValues(outcome)
	}
}

func recordLimits(cfg *config.Config) recording.Limits {
	return recording.Limits{Sample: cfg.Record.Sample, PerSecond: cfg.Record.PerSecond, MaxBytes: cfg.Record.MaxBytes, BodyBytes: int(cfg.Record.BodyBytes)}
}

// instanceName returns a name for this process that no other running process has: the host
// and the listening address, or the process id in place of a dynamic port.
func instanceName(listen string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(listen, ":0") {
		listen += "-" + strconv.Itoa(os.Getpid())
	}
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, host+"-"+listen), nil
}
