package contracttests

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/config/strictyaml"
)

// maxDataFile bounds a file of cases, shapes or fixtures, in bytes.
const maxDataFile = 4 << 20

// Fixtures are the objects of a store that cases use but cannot create through the API, such as
// websites and orders. Their names are the names in fixtures/demo.yaml.
type Fixtures struct{ values bindings }

//go:embed fixtures/demo.yaml
var demoFixtures []byte

// ParseFixtures reads fixtures from YAML or JSON. The names must be among the names of
// [DemoFixtureFile]; each may be missing. It returns an error for a name that no case uses.
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
	if err := decodeYAML("fixtures", data, &t); err != nil {
		return Fixtures{}, err
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

// decodeYAML reads a YAML file, whose name is for errors, into v. It returns all faults with their
// lines: members that v does not have, a second document, and input larger than maxDataFile.
// Input without a value leaves v unchanged.
func decodeYAML(file string, data []byte, v any) error {
	return decodeWith(&strictyaml.Decoder{File: file}, data, v)
}

// decodeWith is decodeYAML with a decoder that has further options.
func decodeWith(d *strictyaml.Decoder, data []byte, v any) error {
	if len(data) > maxDataFile {
		return fmt.Errorf("%s: larger than %d bytes", d.File, maxDataFile)
	}
	d.MayBeEmpty = true
	d.Decode(data, v)
	return d.Err()
}
