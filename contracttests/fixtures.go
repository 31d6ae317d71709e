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

// Fixtures are what a store holds that no call can create, by the names of
// fixtures/demo.yaml.
type Fixtures struct{ values names }

//go:embed fixtures/demo.yaml
var demoFixtures []byte

// ParseFixtures reads fixtures as YAML or JSON: some of the names that
// [DemoFixtureFile] has, each of the same form. It fails on a name that no case
// knows.
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
			return Fixtures{}, fmt.Errorf("fixtures: no case knows %q", name)
		}
	}
	return f, nil
}

func parseFixtures(data []byte) (Fixtures, error) {
	var t tree
	if err := decodeYAML(data, &t); err != nil {
		return Fixtures{}, fmt.Errorf("fixtures: %w", err)
	}
	if t.kind != record {
		return Fixtures{}, errors.New("fixtures: not a mapping of names to values")
	}
	values := names{}
	for i := range t.members {
		values[t.members[i].name] = t.members[i].value
	}
	return Fixtures{values}, nil
}

// DemoFixtures returns what the demo store holds.
func DemoFixtures() (Fixtures, error) { return parseFixtures(demoFixtures) }

// DemoFixtureFile returns the commented file of the demo store's fixtures, which
// those of another store are best copied from.
func DemoFixtureFile() []byte { return bytes.Clone(demoFixtures) }

// isWritable reports whether the cases may change a fixture, if they put it back.
func (f Fixtures) isWritable(name string) bool {
	n, err := f.values.lookup(name + ".writable")
	return err == nil && n.kind == literal && n.text == "true"
}

// decodeYAML reads one document into v and refuses keys that v does not have.
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
