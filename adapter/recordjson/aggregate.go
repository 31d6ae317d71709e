package recordjson

import "github.com/portico-commerce/portico/adapter"

// An Aggregate is the JSON of a record with its parts and the scoped values of both.
type Aggregate struct {
	Record  Record             `json:"record"`
	PartsOf []adapter.Resource `json:"parts_of,omitempty"`
	Parts   []Part             `json:"parts,omitempty"`
	Levels  []Part             `json:"levels,omitempty"`
}

// A Part is a part of a record, or the values of the record or of a part at a store view.
type Part struct {
	Resource adapter.Resource `json:"resource"`
	StoreID  int64            `json:"level,omitempty"`
	Record   Record           `json:"record"`
}

// EncodeAggregate returns the JSON of an aggregate, without its fields PartsOnly and Gone.
func EncodeAggregate(one adapter.Aggregate) Aggregate {
	encoded := Aggregate{Record: Encode(one.Record), PartsOf: one.PartsOf}
	for _, r := range one.Parts {
		encoded.Parts = append(encoded.Parts, Part{r.Schema.Resource, 0, Encode(r)})
	}
	for _, l := range one.Levels {
		encoded.Levels = append(encoded.Levels, Part{l.Record.Schema.Resource, l.StoreID, Encode(l.Record)})
	}
	return encoded
}

// Decode returns the aggregate of a resource that EncodeAggregate was given.
func (a *Aggregate) Decode(schemas *adapter.Schemas, r adapter.Resource) (one adapter.Aggregate, err error) {
	if one.Record, err = a.Record.Decode(schemas.Of(r)); err != nil {
		return one, err
	}
	for _, r := range a.PartsOf {
		if schemas.Of(r) != nil {
			one.PartsOf = append(one.PartsOf, r)
		}
	}
	err = eachPart(schemas, a.Parts, func(_ int64, r adapter.Record) { one.Parts = append(one.Parts, r) })
	if err != nil {
		return one, err
	}
	err = eachPart(schemas, a.Levels, func(storeID int64, r adapter.Record) {
		one.Levels = append(one.Levels, adapter.Level{StoreID: storeID, Record: r})
	})
	return one, err
}

// eachPart decodes the parts whose resources the schemas have.
func eachPart(schemas *adapter.Schemas, parts []Part, decoded func(storeID int64, r adapter.Record)) error {
	for _, p := range parts {
		schema := schemas.Of(p.Resource)
		if schema == nil {
			continue
		}
		r, err := p.Record.Decode(schema)
		if err != nil {
			return err
		}
		decoded(p.StoreID, r)
	}
	return nil
}
