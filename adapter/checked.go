package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
)

// Checked returns a with stores that check the records which they return: the layers above rely on
// canonical values. A decimal without its four places gets them, and log names its attribute once. A value
// that is not of its attribute's kind is an error of kind Internal, with the attribute as its field. A panic of
// Ping is such an error, too: commands and the readiness check call it.
func Checked(a Adapter, log *slog.Logger) Adapter { return &checkedAdapter{Adapter: a, log: log} }

type checkedAdapter struct {
	Adapter
	log    *slog.Logger
	logged sync.Map // names of attributes with their resource
}

func (a *checkedAdapter) Ping(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{Kind: Internal, Op: "ping", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	return a.Adapter.Ping(ctx)
}

func (a *checkedAdapter) Store(r Resource) (Store, error) {
	s, err := a.Adapter.Store(r)
	if err != nil {
		return nil, err
	}
	return &checkedStore{s, a}, nil
}

// check returns r with canonical values. It copies r before it changes a value, as the store may have
// other readers of it.
func (a *checkedAdapter) check(op string, r Record) (Record, error) {
	if r.Schema == nil || len(r.Values) != len(r.Schema.Attributes) {
		return Record{}, &Error{Kind: Internal, Op: op, Err: errShape}
	}
	copied := false
	for i := range r.Values {
		attribute := &r.Schema.Attributes[i]
		v, err := attribute.Canonical(r.Values[i])
		if err == nil && v.Kind() == Records {
			v, err = a.checkAll(op, v)
		}
		if err != nil {
			return Record{}, &Error{Kind: Internal, Op: fmt.Sprintf("%s: record %d: the adapter returned a value that is not canonical", op, r.Key()), Field: attribute.Name, Err: err}
		}
		if v.Equal(r.Values[i]) {
			continue
		}
		if !copied {
			r.Values, copied = slices.Clone(r.Values), true
		}
		r.Values[i] = v
		if v.Kind() == Records { // which are never equal, and log their own attributes
			continue
		}
		if _, known := a.logged.LoadOrStore(string(r.Schema.Resource)+"."+attribute.Name, true); !known {
			a.log.Warn("the adapter returns values that are not canonical; they are converted", "resource", string(r.Schema.Resource), "attribute", attribute.Name)
		}
	}
	return r, nil
}

var errShape = errors.New("the adapter returned a record without its schema, or with another number of values: make it by NewRecord")

// checkAll returns a list of records with canonical values.
func (a *checkedAdapter) checkAll(op string, v Value) (Value, error) {
	all := slices.Clone(v.Records())
	for i, r := range all {
		var err error
		if all[i], err = a.check(op, r); err != nil {
			return Value{}, err
		}
	}
	return RecordsValue(all), nil
}

type checkedStore struct {
	Store
	adapter *checkedAdapter
}

func (s *checkedStore) List(ctx context.Context, p *ListParams) (*ListResult, error) {
	found, err := s.Store.List(ctx, p)
	if err != nil || found == nil {
		return found, err
	}
	checked := *found
	checked.Records = slices.Clone(found.Records)
	for i, r := range found.Records {
		if checked.Records[i], err = s.adapter.check("list", r); err != nil {
			return nil, err
		}
	}
	return &checked, nil
}

func (s *checkedStore) Get(ctx context.Context, p *GetParams) (Record, error) {
	r, err := s.Store.Get(ctx, p)
	if err != nil {
		return Record{}, err
	}
	return s.adapter.check("get", r)
}

// Update gives Change a checked record.
func (s *checkedStore) Update(ctx context.Context, p *UpdateParams) error {
	return s.Store.Update(ctx, s.checkedChange(p))
}

// UpdateBatch is Update for several records, if the store has it.
func (s *checkedStore) UpdateBatch(ctx context.Context, batch []UpdateParams) (failures []error, err error) {
	checked := make([]UpdateParams, len(batch))
	for i := range batch {
		checked[i] = *s.checkedChange(&batch[i])
	}
	return UpdateBatch(ctx, s.Store, checked)
}

func (s *checkedStore) checkedChange(p *UpdateParams) *UpdateParams {
	checked := *p
	checked.Change = func(current Record) (Record, error) {
		current, err := s.adapter.check("update", current)
		if err != nil {
			return Record{}, err
		}
		return p.Change(current)
	}
	return &checked
}
