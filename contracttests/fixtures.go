package contracttests

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxDataFile bounds a file of cases, shapes or fixtures, in bytes.
const maxDataFile = 4 << 20

// Fixtures are the objects of a store that cases use but cannot create through the API,
// such as websites and orders. Their names are those of fixtures/demo.yaml.
type Fixtures struct{ values bindings }

//go:embed fixtures/demo.yaml
var demoFixtures []byte

// ParseFixtures reads fixtures from YAML or JSON. The names must be among those of
// [DemoFixtureFile]; each may be missing. It returns an error for a name that no case
// uses.
func ParseFixtures(data []byte) (Fixtures, error) {
	known, err := DemoFixtures()
	if err != nil {
		return Fixtures{}, err
	}
	f, err := parseFixtures(data)
	if err != nil {
		return Fixtures{}, err
	}
	for name := range f.values {
		if _, ok := known.values[name]; !ok {
			return Fixtures{}, fmt.Errorf("fixtures: no case uses the name %q", name)
		}
	}
	return f, nil
}

// parseFixtures reads fixtures with any names.
func parseFixtures(data []byte) (Fixtures, error) {
	var t yamlTree
	if err := decodeYAML(data, &t); err != nil {
		return Fixtures{}, fmt.Errorf("fixtures: %w", err)
	}
	if t.kind != record {
		return Fixtures{}, errors.New("fixtures: not a mapping of names to values")
	}
	values := bindings{}
	for i := range t.members {
		values[t.members[i].name] = t.members[i].value
	}
	return Fixtures{values}, nil
}

// DemoFixtures returns the fixtures of the demo store.
func DemoFixtures() (Fixtures, error) { return parseFixtures(demoFixtures) }

// DemoFixtureFile returns the file that [DemoFixtures] reads. It is commented, so that it
// can serve as a template for the fixtures of another store.
func DemoFixtureFile() []byte { return bytes.Clone(demoFixtures) }

// isWritable reports whether cases may change a fixture, provided that they restore it.
func (f Fixtures) isWritable(name string) bool {
	n, err := f.values.lookup(name + ".writable")
	return err == nil && n.kind == literal && n.text == "true"
}

// decodeYAML reads one YAML document into v. It returns an error for keys that v does not
// have, for a second document, and for input larger than maxDataFile. Input without a
// document leaves v unchanged.
func decodeYAML(data []byte, v any) error {
	if len(data) > maxDataFile {
		return fmt.Errorf("larger than %d bytes", maxDataFile)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(v); err == io.EOF {
		return nil // nothing but comments
	} else if err != nil {
		return err
	}
	if err := dec.Decode(new(yaml.Node)); err != io.EOF {
		return errors.New("text after the document")
	}
	return nil
}
