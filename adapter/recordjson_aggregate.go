package adapter

// A JSONAggregate is the JSON of a record with its parts and the scoped values of both.
type JSONAggregate struct {
	Record  JSONRecord `json:"record"`
	PartsOf []Resource `json:"parts_of,omitempty"`
	Parts   []JSONPart `json:"parts,omitempty"`
	Levels  []JSONPart `json:"levels,omitempty"`
}

// A JSONPart is a part of a record, or the values of the record or of a part at a store view.
type JSONPart struct {
	Resource Resource   `json:"resource"`
	StoreID  int64      `json:"level,omitempty"`
	Record   JSONRecord `json:"record"`
}

// EncodeJSONAggregate returns the JSON of an aggregate, without its fields PartsOnly and Gone.
func EncodeJSONAggregate(one Aggregate) JSONAggregate {
	encoded := JSONAggregate{Record: EncodeJSON(one.Record), PartsOf: one.PartsOf}
	for _, r := range one.Parts {
		encoded.Parts = append(encoded.Parts, JSONPart{r.Schema.Resource, 0, EncodeJSON(r)})
	}
	for _, l := range one.Levels {
		encoded.Levels = append(encoded.Levels, JSONPart{l.Record.Schema.Resource, l.StoreID, EncodeJSON(l.Record)})
	}
	return encoded
}

// Decode returns the aggregate of a resource that EncodeAggregate was given.
func (a *JSONAggregate) Decode(schemas *Schemas, r Resource) (one Aggregate, err error) {
	if one.Record, err = a.Record.Decode(schemas.Of(r)); err != nil {
		return one, err
	}
	for _, r := range a.PartsOf {
		if schemas.Of(r) != nil {
			one.PartsOf = append(one.PartsOf, r)
		}
	}
	err = eachPart(schemas, a.Parts, func(_ int64, r Record) { one.Parts = append(one.Parts, r) })
	if err != nil {
		return one, err
	}
	err = eachPart(schemas, a.Levels, func(storeID int64, r Record) {
		one.Levels = append(one.Levels, Level{StoreID: storeID, Record: r})
	})
	return one, err
}

// eachPart decodes the parts whose resources the schemas have.
func eachPart(schemas *Schemas, parts []JSONPart, decoded func(storeID int64, r Record)) error {
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
