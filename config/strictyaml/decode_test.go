package strictyaml_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/strictyaml"
	"go.yaml.in/yaml/v3"
)

// A garden is a file of the tests.
type garden struct {
	Name    string `need:"true"`
	Area    float64
	Beds    []*bed
	Paths   map[string]*bed
	Labels  map[string]string
	Watered time.Duration   `default:"1h" range:"1m 24h"`
	Tank    strictyaml.Size `default:"1MiB" range:"1KiB 1GiB"`
	Pond    struct {
		Depth int  `default:"3" range:"1 9"`
		Fish  bool `yaml:"has_fish"`
	}
	Fence material
	Hedge list
	Notes string `yaml:"-"`
	lock  string
}

// A material is a struct that decodes itself.
type material struct{ name string }

func (m *material) UnmarshalText(text []byte) error {
	m.name = string(text)
	return nil
}

// A list is one text or several.
type list []string

func (l *list) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode((*[]string)(l))
	}
	if *l = (list{n.Value}); n.Value == "plastic" {
		return errors.New("must be alive")
	}
	return nil
}

// A bed has plants, and its width in common with a path.
type bed struct {
	shape  `unit:"feet"`
	Plant  color
	Raised bool `only:"roof"`
}

type shape struct{ Width int }

// A color decodes itself.
type color string

func (c *color) UnmarshalText(text []byte) error {
	if *c = color(text); *c != "red" && *c != "blue" {
		return errors.New("must be red or blue")
	}
	return nil
}

func TestDecode(t *testing.T) {
	var got garden
	d := strictyaml.Decoder{File: "garden.yaml"}
	d.Decode([]byte("name: back\nbeds: [{width: 2, plant: red}, {}]\npaths: {gravel: {width: 1}}\nlabels: {a: 1, b: ~}\npond: {has_fish: true}\ntank: 2KiB\nfence: ~\narea: 7.5\nhedge: [box, yew]\n"), &got)
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	want := garden{
		Name: "back", Area: 7.5, Watered: time.Hour, Tank: 2 << 10, Labels: map[string]string{"a": "1", "b": ""},
		Fence: material{}, Hedge: list{"box", "yew"}, lock: "",
		Beds: []*bed{{shape: shape{2}, Plant: "red"}, {}}, Paths: map[string]*bed{"gravel": {shape: shape{1}, Plant: ""}},
	}
	want.Pond.Depth, want.Pond.Fish = 3, true
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"none", "name: a\nfence: wood", nil},
		{"empty", "# nothing", []string{"f: is empty"}},
		{"not YAML", "name: [", []string{"f: is not YAML: line 1: did not find expected node content"}},
		{"two documents", "name: a\n---\nname: b", []string{"f:2: must be a single YAML document"}},
		{"a list", "[1]", []string{"f:1: the file must be a mapping such as {name: value}"}},
		{"a member that is missing", "area: 1", []string{"f:1: name must have a value"}},
		{"null", "name: ~", []string{"f:1: name must have a value"}},
		{"null in a list and in a map", "name: a\nbeds:\n- {}\n- ~\npaths: {b: ~}", []string{"f:4: beds[1] must have a value", "f:5: paths.b must have a value"}},
		{"an unknown member", "name: a\nbets: []", []string{"f:2: bets is unknown; known members are name, area, beds, paths, labels, watered, tank, pond, fence, hedge; did you mean beds?"}},
		{"a field that is not exported", "name: a\nlock: x", []string{"f:2: lock is unknown; known members are name, area, beds, paths, labels, watered, tank, pond, fence, hedge"}},
		{"a name with a control character", "name: a\n\"b\\ec\": 1", []string{`f:2: "b\x1bc" is unknown; known members are name, area, beds, paths, labels, watered, tank, pond, fence, hedge`}},
		{"a repeated name", "name: a\nlabels:\n  x: 1\n  x: 2", []string{"f:4: labels.x is already defined in line 3"}},
		{"a name that is a list", "name: a\nlabels: {[x]: 1}", []string{"f:2: the names in labels must be plain strings"}},
		{"an alias", "name: &a a\nlabels: {x: *a, *a : 1}", []string{
			"f:1: name must not use anchors, aliases and tags", "f:2: labels.x must not use anchors, aliases and tags", "f:2: the names in labels must be plain strings"}},
		{"a merge", "name: a\npond: {<<: {depth: 1}}", []string{`f:2: pond."<<" is unknown; known members are depth, has_fish`}},
		{"an alias of nothing", "name: *secret", []string{"f: must not use anchors, aliases and tags: quote a text that begins with *"}},
		{"an alias in a type that decodes itself", "name: a\nhedge: &a [*a]", []string{"f:2: hedge must not use anchors, aliases and tags"}},
		{"another type that decodes itself", "name: a\nhedge: plastic\nNotes: x", []string{"f:2: hedge must be alive", "f:3: Notes is unknown; known members are name, area, beds, paths, labels, watered, tank, pond, fence, hedge"}},
		{"a tag", "name: !!str a", []string{"f:1: name must not use anchors, aliases and tags"}},
		{"values of other types", "name: [a]\narea: x\nbeds: {}\npaths: []\nwatered: 5\npond: {depth: 1.5, has_fish: 2}", []string{
			"f:1: name must be a string", "f:2: area must be a number", "f:3: beds must be a list", "f:4: paths must be a mapping such as {name: value}",
			"f:5: watered must be a duration such as 10s from 1m to 24h", "f:6: pond.depth must be a whole number from 1 to 9", "f:6: pond.has_fish must be true or false"}},
		{"values out of range", "name: a\nwatered: 25h\ntank: 1\npond: {depth: 0}", []string{
			"f:2: watered must be a duration such as 10s from 1m to 24h", "f:3: tank must be a number of bytes such as 16MiB from 1KiB to 1GiB", "f:4: pond.depth must be a whole number from 1 to 9"}},
		{"a size that is none", "name: a\ntank: 1TiB", []string{"f:2: tank must be a number of bytes such as 16MiB"}},
		{"a type that decodes itself", "name: a\nbeds: [{plant: green}, {plant: [red]}]", []string{"f:2: beds[0].plant must be red or blue", "f:2: beds[1].plant must be red or blue"}},
		{"a member in the wrong place", "name: a\npaths: {roof: {raised: true}, wall: {raised: false}}", []string{"f:2: paths.wall.raised is only allowed in roof"}},
		{"a deep value without a place", "name: a\nlabels: {x: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", []string{"f:2: labels.x must be a string"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := strictyaml.Decoder{File: "f"}
			d.Decode([]byte(c.file), &garden{})
			var got []string
			if err := d.Err(); err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("faults\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestTrustedFile decodes a file with features that only files of the program itself may use.
func TestTrustedFile(t *testing.T) {
	got := garden{Notes: "before"}
	d := strictyaml.Decoder{File: "f", Aliases: true, MayBeEmpty: true}
	d.Decode([]byte("# nothing"), &got)
	if d.Err() != nil || got.Notes != "before" {
		t.Fatalf("%+v, %v", got, d.Err())
	}
	d.Decode([]byte("name: a\nbeds: [&b {width: 2}, *b]\nlabels: {x: &l y, z: *l}"), &got)
	want := []*bed{{shape: shape{2}}, {shape: shape{2}}}
	if d.Err() != nil || !reflect.DeepEqual(got.Beds, want) || got.Labels["z"] != "y" {
		t.Errorf("%+v, %v", got, d.Err())
	}
}

// TestCheck checks the order in which values are checked, and the arguments of a check.
func TestCheck(t *testing.T) {
	var got []string
	d := strictyaml.Decoder{File: "f"}
	d.Check = func(p strictyaml.Place, v any) {
		switch v := v.(type) {
		case *int:
			got = append(got, fmt.Sprintf("%s %d %s", p.Path, p.Line, p.Tag("unit")))
			d.Require(*v < 10, p, "is too large")
		case *garden:
			got = append(got, fmt.Sprintf("%q %d", p.Path, p.Count("name", "area", "pond")))
			d.Need(p, "name", "area")
			d.Refuse(p, "a park", "beds", "pond")
			for name, member := range p.In("labels").Members() {
				got = append(got, name+" "+member.Name())
			}
		}
	}
	d.Decode([]byte("name: a\nbeds:\n- width:\n    12\nlabels: {y: 1, x: 2}\n"), &garden{})
	if want := []string{"beds[0].width 3 feet", `"" 1`, "y y", "x x"}; !slices.Equal(got, want) {
		t.Errorf("checked %q, want %q", got, want)
	}
	const want = "f:1: area must have a value\nf:2: beds is only allowed in a park\nf:3: beds[0].width is too large"
	if err := d.Err(); err == nil || err.Error() != want {
		t.Errorf("faults\n%v\nwant\n%s", err, want)
	}
}

func TestManyFaults(t *testing.T) {
	d := strictyaml.Decoder{File: "f"}
	d.Decode([]byte("name: a\n"+strings.Repeat("unknown: 1\n", 2000)), &garden{})
	lines := strings.Split(d.Err().Error(), "\n")
	if len(lines) != 101 || lines[100] != "f: has 3899 more faults" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}
