package importer

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// maxTrials bounds the trials for one record. The pieces that are left then are left out as a
// whole.
const maxTrials = 500

// A leftOutPart is a part, or a value, of a record that cannot be stored.
type leftOutPart struct {
	key    string // a description for people: "orders 5, order_addresses 8"
	reason string // why, as in a [Refusal]
}

// A salvage finds out which parts and values of a record keep it from being stored.
type salvage struct {
	b      *Batch
	base   adapter.Aggregate // the record with its required values only
	good   []piece
	bad    []leftOutPart
	trials int
	// refusal is the error of the last trial that failed.
	refusal error
	// passing: a part may be stored later, even if the legacy store does not change it.
	passing bool
}

// A piece is a part or a value of a record that it can do without.
type piece struct {
	key string
	add func(*adapter.Aggregate)
	// whole is the part of which the piece is the part itself, with all values; nil: it is a value.
	whole *adapter.Record
	// ofLevel: it is a value at a store view, which cannot be without the record or part that it is of.
	ofLevel bool
}

// salvage returns the part of a record that can be stored, and the parts and values that are left
// out. ok: the record can be stored without them; if not, the refusal of the salvage is the reason.
func (b *Batch) salvage(ctx context.Context, one adapter.Aggregate) (fit adapter.Aggregate, s *salvage, ok bool, err error) {
	s = &salvage{b: b, base: bare(one)}
	if ok, _, err = s.fits(ctx, nil); err != nil || !ok {
		return one, s, false, err
	}
	if err := s.grow(ctx, s.sift(pieces(one))); err != nil {
		return one, s, false, err
	}
	return s.build(nil), s, true, nil
}

// bare returns a record without parts and without the values that it can do without, which are null.
func bare(one adapter.Aggregate) adapter.Aggregate {
	base := one
	base.Parts, base.Levels, base.Record = nil, nil, one.Record.Clone()
	for at, v := range base.Record.Values {
		if isOptional(base.Record.Schema, at) && v.Kind() != adapter.Absent {
			base.Record.Values[at] = adapter.NullValue()
		}
	}
	return base
}

// sift returns the pieces that pass the checks which do not depend on stored records, and leaves
// out the others. It makes no database query.
func (s *salvage) sift(more []piece) []piece {
	one := s.base
	one.Record = one.Record.Clone()
	for _, p := range more {
		if !p.ofLevel {
			p.add(&one)
		}
	}
	err := s.b.imp.Store.CheckImport(one, s.b.Options)
	switch {
	case err == nil:
		return more
	case len(more) > 1:
		return slices.Concat(s.sift(more[:len(more)/2]), s.sift(more[len(more)/2:]))
	}
	if core, values := split(more[0]); len(values) > 0 {
		if clean := s.sift(core); len(clean) > 0 {
			return append(clean, s.sift(values)...)
		}
		return nil
	}
	reason, _, _ := SkipReason(s.b.Part, err)
	s.bad = append(s.bad, leftOutPart{more[0].key, reason})
	return nil
}

// fits reports whether the record can be stored with the pieces that were found good, and more.
func (s *salvage) fits(ctx context.Context, more []piece) (ok bool, reason string, err error) {
	o := s.b.Options
	o.Content, o.Push, o.Passed = nil, false, nil // a trial has no files, and asks no backend
	s.trials++
	_, err = s.b.imp.Store.Trial().Import(ctx, []adapter.Aggregate{s.build(more)}, o)
	if err == nil {
		return true, "", nil
	}
	s.refusal = err
	reason, passing, skippable := SkipReason(s.b.Part, err)
	if !skippable {
		return false, "", err
	}
	s.passing = s.passing || passing && len(more) == 1
	return false, reason, nil
}

// build returns the record with the pieces that were found good, and more.
func (s *salvage) build(more []piece) adapter.Aggregate {
	one := s.base
	one.Record = one.Record.Clone()
	for _, p := range slices.Concat(s.good, more) {
		p.add(&one)
	}
	return one
}

// grow adds the pieces that can be stored together with the good ones: all of them, or, if they
// cannot, the storable ones of each half. Of a part that cannot be stored it finds the values that
// can.
func (s *salvage) grow(ctx context.Context, more []piece) error {
	if len(more) == 0 {
		return nil
	}
	if s.trials >= maxTrials {
		s.bad = append(s.bad, leftOutPart{fmt.Sprintf("%s, and what follows it", more[0].key), "too much of the record cannot be stored"})
		return nil
	}
	ok, reason, err := s.fits(ctx, more)
	switch {
	case err != nil:
		return err
	case ok:
		s.good = append(s.good, more...)
		return nil
	case len(more) > 1:
		if err := s.grow(ctx, more[:len(more)/2]); err != nil {
			return err
		}
		return s.grow(ctx, more[len(more)/2:])
	}
	if core, values := split(more[0]); len(values) > 0 {
		before := len(s.good)
		if err := s.grow(ctx, core); err != nil || len(s.good) == before {
			return err
		}
		return s.grow(ctx, values)
	}
	s.bad = append(s.bad, leftOutPart{more[0].key, reason})
	return nil
}

// split returns a piece that is a part as the part without the values that it can do without, and
// these. It returns no values of another piece.
func split(p piece) (core, more []piece) {
	if p.whole == nil {
		return nil, nil
	}
	part := bare(adapter.Aggregate{Record: *p.whole}).Record
	of := func(a *adapter.Aggregate) adapter.Record {
		at := slices.IndexFunc(a.Parts, func(other adapter.Record) bool { return other.Schema == part.Schema && other.Key() == part.Key() })
		if at < 0 {
			at, a.Parts = len(a.Parts), append(a.Parts, part.Clone())
		}
		return a.Parts[at]
	}
	return []piece{{key: p.key, add: func(a *adapter.Aggregate) { of(a) }}}, values(p.key, *p.whole, of, isOptional)
}

// pieces returns the parts and values that a record can do without.
func pieces(one adapter.Aggregate) (all []piece) {
	name := fmt.Sprintf("%s %d", one.Record.Schema.Resource, one.Record.Key())
	if !one.PartsOnly {
		all = values(name, one.Record, func(a *adapter.Aggregate) adapter.Record { return a.Record }, isOptional)
	}
	for _, part := range one.Parts {
		all = append(all, piece{
			key: fmt.Sprintf("%s, %s %d", name, part.Schema.Resource, part.Key()), whole: &part,
			add: func(a *adapter.Aggregate) { a.Parts = append(a.Parts, part) },
		})
	}
	for _, level := range one.Levels {
		of := name
		if level.Record.Schema != one.Record.Schema {
			of = fmt.Sprintf("%s, %s %d", name, level.Record.Schema.Resource, level.Record.Key())
		}
		own := values(fmt.Sprintf("%s, store %d", of, level.StoreID), level.Record, func(a *adapter.Aggregate) adapter.Record {
			at := slices.IndexFunc(a.Levels, func(l adapter.Level) bool {
				return l.StoreID == level.StoreID && l.Record.Schema == level.Record.Schema && l.Record.Key() == level.Record.Key()
			})
			if at < 0 {
				at = len(a.Levels)
				a.Levels = append(a.Levels, adapter.Level{StoreID: level.StoreID, Record: withKeys(level.Record)})
			}
			return a.Levels[at].Record
		}, isNoKey)
		for i := range own {
			own[i].ofLevel = true
		}
		all = append(all, own...)
	}
	return all
}

// withKeys returns a record that has only its key and its root attribute.
func withKeys(r adapter.Record) adapter.Record {
	keys := adapter.NewRecord(r.Schema)
	for _, name := range []string{r.Schema.Key, r.Schema.RootAttribute} {
		if name != "" {
			keys.Set(name, r.Get(name))
		}
	}
	return keys
}

// isNoKey reports whether an attribute is neither the record's key nor a reference to its owner or
// root.
func isNoKey(s *adapter.Schema, at int) bool {
	name := s.Attributes[at].Name
	return name != s.Key && name != s.Owner && name != s.RootAttribute
}

// isOptional reports whether a record can do without the value of an attribute: it is not required,
// and it relates the record to no other one.
func isOptional(s *adapter.Schema, at int) bool {
	a := &s.Attributes[at]
	return isNoKey(s, at) && !a.Required && a.Refers == "" && !slices.Contains(s.Unique, a.Name)
}

// values returns the values of a record that are pieces of their own. of returns the record in an
// aggregate.
func values(name string, r adapter.Record, of func(*adapter.Aggregate) adapter.Record, isPiece func(*adapter.Schema, int) bool) (all []piece) {
	for at, v := range r.Values {
		if v.Kind() == adapter.Absent || !isPiece(r.Schema, at) {
			continue
		}
		key := name + ", " + r.Schema.Attributes[at].Name
		if v.Kind() != adapter.Records {
			all = append(all, piece{key: key, add: func(a *adapter.Aggregate) { of(a).Values[at] = v }})
			continue
		}
		all = append(all, piece{key: key, add: func(a *adapter.Aggregate) { of(a).Values[at] = adapter.RecordsValue(nil) }})
		for i, entry := range v.Records() {
			all = append(all, piece{key: fmt.Sprintf("%s %d", key, i+1), add: func(a *adapter.Aggregate) {
				list := &of(a).Values[at]
				*list = adapter.RecordsValue(slices.Concat(list.Records(), []adapter.Record{entry}))
			}})
		}
	}
	return all
}
