package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/migration"
)

// sweepEvidence is the name under which the store has the result of the last sweep.
const sweepEvidence = "sweep"

// checkNote checks, before a sweep that may take hours, that its result can be stored.
func (o *compareOptions) checkNote(ctx context.Context) error {
	if o.noteIn == nil {
		return nil
	}
	db, err := openStore(ctx, o.noteIn, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("--note: %w", err)
	}
	return db.Close()
}

// note stores the result of a sweep where "portico plan" finds it.
func (o *compareOptions) note(ctx context.Context, result *comparison) (err error) {
	if o.noteIn == nil {
		return nil
	}
	text, err := json.Marshal(sweepOf(result, o))
	if err != nil {
		return err
	}
	db, err := openStore(ctx, o.noteIn, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("--note: %w", err)
	}
	return errors.Join(db.NoteEvidence(ctx, sweepEvidence, string(text)), db.Close())
}

// sweepOf returns what is noted of a sweep.
func sweepOf(result *comparison, o *compareOptions) *migration.Sweep {
	s := &migration.Sweep{
		Legacy: result.Legacy, Candidate: result.Candidate, Started: result.Started, Ended: time.Now().UTC(),
		Complete: result.Lost == 0 && o.sweep.share == 1 && len(o.sweep.stores) == 0, Callers: result.Sweep.Callers, Sample: result.Sweep.Sample,
		Resources: map[string]migration.Compared{},
	}
	resources := map[string]string{} // by call
	for _, r := range o.routes.Routes() {
		resources[r.Calls[contract.GET]] = r.Resource
	}
	for _, count := range result.Calls {
		if resource, ok := resources[count.Call]; ok {
			sum := s.Resources[resource]
			sum.Answers += int64(count.Compared)
			sum.Different += int64(count.Different)
			sum.Accepted += int64(count.Expected)
			s.Resources[resource] = sum
		}
	}
	return s
}

// loadNoteConfig reads the configuration of the store in which the sweep is noted.
func (o *compareOptions) loadNoteConfig(load func() (*config.Config, error)) (err error) {
	if !o.sweep.note {
		return nil
	}
	if !o.sweep.enabled {
		return errors.New("--note is a flag of --sweep")
	}
	o.noteIn, err = load()
	return err
}
