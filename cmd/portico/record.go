package main

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

// exchangesFolder is where in record.dir the files of exchanges are; beside it are
// those of counts. "compare" and the contract suite read the folder as it is.
const exchangesFolder = "exchanges"

// newMasker returns a masker whose masks nobody can undo when the program has ended.
func newMasker(table *contract.Table) *mask.Masker {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return mask.New(table, key)
}

// newRecording starts what cfg wants recorded: none without record.dir. closing writes
// what is left, when nothing is served any more.
func newRecording(cfg *config.Config, masker *mask.Masker, registry prometheus.Registerer, log *slog.Logger) (watchers []exchange.Watcher, closing func() error, err error) {
	if cfg.Record.Dir == "" {
		return nil, func() error { return nil }, nil
	}
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_recorded_exchanges_total",
		Help: "Exchanges chosen to be recorded, by what became of them: written, dropped, limited or unreadable.",
	}, []string{"outcome"})
	if err := registry.Register(outcomes); err != nil {
		return nil, nil, err
	}
	for _, outcome := range recording.Outcomes() {
		outcomes.WithLabelValues(outcome)
	}
	instance, err := instanceOf(cfg.Listen)
	if err != nil {
		return nil, nil, err
	}
	failed := func(err error) error {
		return fmt.Errorf("%w\nset record.dir (PORTICO_RECORD_DIR) to a folder that the program may write to", err)
	}
	counter, err := recording.NewCounter(recording.CounterOptions{Dir: cfg.Record.Dir, Instance: instance, Log: log})
	if err != nil {
		return nil, nil, failed(err)
	}
	recorder, err := recording.NewRecorder(recording.Options{
		Dir: filepath.Join(cfg.Record.Dir, exchangesFolder), Instance: instance, Mask: masker,
		Bases: []string{cfg.PublicURL, cfg.Legacy.URL}, BasePath: cfg.BasePath(),
		Sample: cfg.Record.Sample, PerSecond: cfg.Record.PerSecond, MaxBytes: cfg.Record.MaxBytes, BodyBytes: int(cfg.Record.BodyBytes),
		Count: func(outcome string) { outcomes.WithLabelValues(outcome).Inc() }, Log: log,
	})
	if err != nil {
		return nil, nil, errors.Join(failed(err), counter.Close())
	}
	return []exchange.Watcher{counter, recorder}, func() error { return errors.Join(recorder.Close(), counter.Close()) }, nil
}

// instanceOf names this process among those that run at the same time: no other on
// its machine listens on the same address, if the address says a port.
func instanceOf(listen string) (string, error) {
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
