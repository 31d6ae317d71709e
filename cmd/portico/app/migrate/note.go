package migrate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// checkNote checks, before a sweep that may take hours, that its result can be stored.
func (o *compareOptions) checkNote(ctx context.Context) error {
	if o.noteIn == nil {
		return nil
	}
	db, err := program.OpenStore(ctx, o.noteIn, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("--note: %w", err)
	}
	return db.Close()
}

// note stores the result of a sweep where "portico plan" finds it.
func (o *compareOptions) note(ctx context.Context, result *Report) (err error) {
	if o.noteIn == nil {
		return nil
	}
	text, err := json.Marshal(sweepOf(result, o))
	if err != nil {
		return err
	}
	fields, err := encodeSweptFields(sweptFieldsOf(result, o))
	if err != nil {
		return err
	}
	db, err := program.OpenStore(ctx, o.noteIn, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("--note: %w", err)
	}
	return errors.Join(db.Evidence().Note(ctx, plan.SweepEvidence, string(text)), db.Evidence().Note(ctx, plan.SweptFieldsEvidence, fields), db.Close())
}

// maxSweptFields is the maximum size of these fields in bytes, as of all evidence.
const maxSweptFields = 48 << 10

// sweptFieldsOf returns the fields in which a sweep has found differences, ordered by decreasing
// number of answers. It leaves out examples with personal data, which the report shows on request,
// because others can read the store.
func sweptFieldsOf(result *Report, o *compareOptions) []plan.SweptField {
	var fields []plan.SweptField
	for _, f := range result.Fields {
		field := plan.SweptField{Call: f.Call, Field: f.Field, Answers: f.Answers}
		for _, e := range f.Examples {
			if o.showPersonal {
				break
			}
			field.Examples = append(field.Examples, plan.SweptExample{As: e.As, Request: e.Request, Record: e.Record, Legacy: e.Legacy, Candidate: e.Candidate})
		}
		fields = append(fields, field)
	}
	slices.SortStableFunc(fields, func(a, b plan.SweptField) int { return cmp.Compare(b.Answers, a.Answers) })
	return fields
}

// encodeSweptFields encodes fields. Examples take at most half of the space: the examples of the
// last fields may be left out, and then the last fields themselves.
func encodeSweptFields(fields []plan.SweptField) (string, error) {
	left := maxSweptFields - len("[]")
	var texts []string
	for _, field := range fields {
		text, err := json.Marshal(field)
		if err != nil {
			return "", err
		}
		if left-len(text) < maxSweptFields/2 {
			field.Examples = nil
			if text, err = json.Marshal(field); err != nil {
				return "", err
			}
		}
		if len(text)+1 > left {
			break
		}
		left -= len(text) + 1
		texts = append(texts, string(text))
	}
	return "[" + strings.Join(texts, ",") + "]", nil
}

// sweepOf returns the part of a result that is stored as evidence.
func sweepOf(result *Report, o *compareOptions) *plan.Sweep {
	s := &plan.Sweep{
		Legacy: result.Legacy, Candidate: result.Candidate, Started: result.Started, Ended: time.Now().UTC(),
		Complete: result.Lost == 0 && o.sweep.share == 1 && len(o.sweep.stores) == 0, Callers: result.Sweep.Callers, Sample: result.Sweep.Sample,
		Resources: map[string]plan.Compared{},
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

// loadNoteConfig reads the configuration of the store that gets the result of the sweep.
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
