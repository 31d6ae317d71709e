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

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/exchange"
	"github.com/portico-commerce/portico/mapping/mask"
	"github.com/portico-commerce/portico/mapping/recording"
)

// exchangesFolder is the subfolder of record.dir with the recorded exchanges. The files
// with counts are beside it. The command compare and the contract suite read this folder.
const exchangesFolder = "exchanges"

// newMasker returns a masker with a random key, which is lost when the program ends:
// nobody can undo its masks afterwards.
func newMasker(table *contract.Table) *mask.Masker {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return mask.New(table, key)
}

// newRecorders starts the counter of usage and the recorder of exchanges. Without
// record.dir there are none. Call closing, which writes buffered data, after the last
// request.
func newRecorders(cfg *config.Config, masker *mask.Masker, registry prometheus.Registerer, log *slog.Logger) (watchers []exchange.Watcher, closeRecorders func() error, err error) {
	if cfg.Record.Dir == "" {
		return nil, func() error { return nil }, nil
	}
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_recorded_exchanges_total",
		Help: "Exchanges selected for recording, by outcome: written, dropped, limited or unreadable.",
	}, []string{"outcome"})
	if err := registry.Register(outcomes); err != nil {
		return nil, nil, err
	}
	for _, outcome := range recording.Outcomes() {
		outcomes.WithLabelValues(outcome)
	}
	instance, err := instanceName(cfg.Listen)
	if err != nil {
		return nil, nil, err
	}
	explain := func(err error) error {
		return fmt.Errorf("%w\nset record.dir (PORTICO_RECORD_DIR) to a folder that the program may write to", err)
	}
	counter, err := recording.NewCounter(recording.CounterOptions{Dir: cfg.Record.Dir, Instance: instance, Log: log})
	if err != nil {
		return nil, nil, explain(err)
	}
	recorder, err := recording.NewRecorder(recording.Options{
		Dir: filepath.Join(cfg.Record.Dir, exchangesFolder), Instance: instance, Mask: masker,
		Bases: []string{cfg.PublicURL, cfg.Legacy.URL}, BasePath: cfg.BasePath(),
		Limits: recording.Limits{Sample: cfg.Record.Sample, PerSecond: cfg.Record.PerSecond, MaxBytes: cfg.Record.MaxBytes, BodyBytes: int(cfg.Record.BodyBytes)},
		Count: func(outcome string) { outcomes.WithLabelValues(outcome).Inc() }, Log: log,
	})
	if err != nil {
		return nil, nil, errors.Join(explain(err), counter.Close())
	}
	return []exchange.Watcher{counter, recorder}, func() error { return errors.Join(recorder.Close(), counter.Close()) }, nil
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
