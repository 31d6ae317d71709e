package dataset

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"

	_ "embed"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/portico-commerce/portico/adapter"
)

//go:embed example.json
var exampleJSON []byte

// Example returns a small data set of records with the given schemas. The $comment of the
// first record of each kind describes every attribute. Its passwords and secrets are
// random, so that a store that is filled with it has no known ones.
func Example(schemas *adapter.Schemas) ([]byte, error) {
	var members object
	if err := json.Unmarshal(exampleJSON, &members); err != nil {
		return nil, err
	}
	lists := newFormat(schemas)
	docs := docsOf(append(lists, member{name: credentials, doc: "a client program, its consumer, and access tokens under names of your choice; see portico credentials for more of them"}))
	example := ordered{{comment, append(ordered{{"about", "An example of a data set for portico seed. Members named $comment are not stored. Those of the first record of each kind say what each attribute means, whether it is a text, an integer, a decimal such as \"1.5000\", or a time such as \"2012-03-01 10:00:00\" in UTC, and whether it is required. An object without lists stores nothing."}}, docs...)}}
	for _, l := range lists {
		example = append(example, field{l.name, annotated(&l, members[l.name])})
	}
	text, err := json.Marshal(append(example, field{credentials, members[credentials]}), jsontext.WithIndent(" "))
	return append(withSecrets(text), '\n'), err
}

// docsOf returns the descriptions of members.
func docsOf(members []member) ordered {
	var docs ordered
	for _, m := range members {
		docs = append(docs, field{m.name, m.doc + m.requirement()})
	}
	return docs
}

// requirement returns the kind of a member's value, and whether it may be left out.
func (m *member) requirement() string {
	if m.attribute == nil || m.form != value {
		return ""
	}
	kind := map[adapter.Kind]string{
		adapter.KindText: "text", adapter.KindInteger: "integer", adapter.KindDecimal: "decimal", adapter.KindTime: "time", adapter.KindTexts: "list of texts",
	}[m.attribute.Kind]
	switch {
	case m.required:
		kind += ", required"
	case m.fallback.Kind() != adapter.Absent:
		kind += ", " + m.fallback.Text() + " if absent"
	}
	return " (" + kind + ")"
}

// annotated returns the content of a member, with comments in the first record.
func annotated(m *member, raw jsontext.Value) any {
	switch m.form {
	case list:
		var records []object
		if json.Unmarshal(raw, &records) != nil {
			return raw
		}
		all := make([]ordered, len(records))
		for i, o := range records {
			all[i] = m.of.annotate(o, i == 0)
		}
		return all
	case one:
		var o object
		if json.Unmarshal(raw, &o) != nil {
			return raw
		}
		return m.of.annotate(o, true)
	default:
		return raw
	}
}

// annotate returns a record with its members in the order of the shape. The first one gets
// comments, and values for the attributes that the configuration adds.
func (s *shape) annotate(o object, first bool) (record ordered) {
	if first {
		record = ordered{{comment, docsOf(s.members)}}
	}
	for i := range s.members {
		m := &s.members[i]
		raw, given := o[m.name]
		switch {
		case given:
			record = append(record, field{m.name, annotated(m, raw)})
		case first && m.attribute != nil && m.attribute.Added:
			record = append(record, field{m.name, sample(m.attribute.Kind)})
		}
	}
	return record
}

// sample returns a value of a kind.
func sample(kind adapter.Kind) any {
	switch kind {
	case adapter.KindInteger:
		return 1
	case adapter.KindDecimal:
		return "1.0000"
	case adapter.KindTime:
		return "2012-01-01 00:00:00"
	default:
		return "text"
	}
}

var randomText = regexp.MustCompile(`"\$random"`)

// withSecrets replaces each text $random by 32 random hexadecimal digits.
func withSecrets(text []byte) []byte {
	return randomText.ReplaceAllFunc(text, func([]byte) []byte {
		secret := make([]byte, 16)
		_, _ = rand.Read(secret) // never fails
		return []byte(`"` + hex.EncodeToString(secret) + `"`)
	})
}
