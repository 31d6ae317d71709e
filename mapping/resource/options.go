package resource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/input"
)

// maxOptions and maxOptionBytes bound the options that a shop may have, as all of them are in memory.
const (
	maxOptions     = 200_000
	maxOptionBytes = 64 << 20
)

// Options are the options of the attributes that the store's configuration adds (own_attributes).
type Options struct {
	of    map[optionedAttribute]map[int64]option
	ranks sync.Map // map[int64]int by rankKey
}

// An optionedAttribute is an attribute with options.
type optionedAttribute struct{ resource, attribute string }

// A rankKey is an attribute with the store view whose labels count.
type rankKey struct {
	optionedAttribute
	view int64
}

// An option is a value that an attribute may have, with its labels by store view.
type option struct {
	label  string // in the default scope
	labels map[int64]string
}

// at returns the label at a store view: its own, or that of the default scope.
func (o option) at(view int64) string {
	if own, ok := o.labels[view]; ok {
		return own
	}
	return o.label
}

// newOptions indexes records of [adapter.AttributeOptions].
func newOptions(records []adapter.Record) *Options {
	o := &Options{of: map[optionedAttribute]map[int64]option{}}
	for _, r := range records {
		one := option{label: r.Get("label").Text(), labels: map[int64]string{}}
		for _, text := range r.Get("labels").Texts() {
			view, label, ok := strings.Cut(text, ":")
			if id, err := strconv.ParseInt(view, 10, 64); ok && err == nil {
				one.labels[id] = label
			}
		}
		key := optionedAttribute{r.Get("resource").Text(), r.Get("attribute").Text()}
		if o.of[key] == nil {
			o.of[key] = map[int64]option{}
		}
		o.of[key][int64(r.Key())] = one
	}
	return o
}

// Has reports whether an attribute of a resource has the option with an id.
func (o *Options) Has(r adapter.Resource, attribute string, id int64) bool {
	_, ok := o.of[optionedAttribute{string(r), attribute}][id]
	return ok
}

// Label returns the label at a store view of the first option that a value of an attribute names, and
// whether there is one.
func (o *Options) Label(r adapter.Resource, attribute string, v adapter.Value, view int64) (string, bool) {
	id, named := adapter.OptionID(v)
	one, ok := o.of[optionedAttribute{string(r), attribute}][id]
	return one.at(view), ok && named
}

// Ranks returns the places of the options of an attribute by the order of their labels at a store
// view, as [adapter.Query.Ranks] takes them. Labels that differ only in case and accents share a place.
func (o *Options) Ranks(r adapter.Resource, attribute string, view int64) map[int64]int {
	key := rankKey{optionedAttribute{string(r), attribute}, view}
	if known, ok := o.ranks.Load(key); ok {
		return known.(map[int64]int)
	}
	type labeled struct {
		id    int64
		label string
	}
	var all []labeled
	for id, one := range o.of[key.optionedAttribute] {
		all = append(all, labeled{id, adapter.Fold(one.at(view))})
	}
	slices.SortFunc(all, func(a, b labeled) int { return cmp.Compare(a.label, b.label) })
	ranks := make(map[int64]int, len(all))
	rank := 0
	for i, one := range all {
		if i > 0 && all[i-1].label != one.label {
			rank++
		}
		ranks[one.id] = rank
	}
	o.ranks.Store(key, ranks)
	return ranks
}

// readOptions reads the options of all attributes, if any attribute has options.
func (s *ShopCache) readOptions(ctx context.Context) (*Options, error) {
	if !s.hasOptions {
		return newOptions(nil), nil
	}
	records, err := s.options.All(ctx, &adapter.ListParams{Query: adapter.Query{Limit: maxOptions + 1}})
	if err != nil {
		return nil, err
	}
	size := int64(0)
	for _, r := range records {
		size += r.Size()
	}
	if len(records) > maxOptions || size > maxOptionBytes {
		return nil, &adapter.Error{Kind: adapter.Internal, Op: "read attribute_options", Err: fmt.Errorf("more than %d options, or more than %d bytes: remove options that no record has", maxOptions, maxOptionBytes)}
	}
	return newOptions(records), nil
}

// OptionCodes returns the ids of the options of an attribute that n, or a member of the list n, stands
// for.
func (s *ShopCache) OptionCodes(ctx context.Context, r adapter.Resource, attribute string, n *codec.Node) (codes []string, err error) {
	shop, err := s.Current(ctx)
	if err != nil {
		return nil, err
	}
	values := n.Members
	if n.Kind != codec.Struct {
		values = []codec.Member{{Value: *n}}
	}
	for _, v := range values {
		text := codec.TextNode(v.Value.String())
		if id, ok := input.WholeNumber(&text); ok && shop.Options.Has(r, attribute, id) {
			codes = append(codes, strconv.FormatInt(id, 10))
		}
	}
	return codes, nil
}
