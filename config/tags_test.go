package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTags checks that the tags of all settings and tables, and of the tables' keys, are known
// and valid.
func TestTags(t *testing.T) {
	known := []string{"setting", "form", "choices", "empty", "default", "default_openmage", "range", "pattern", "must", "flag", "secret", "reload", "help", "table", "identity", "example"}
	var check func(reflect.Type)
	check = func(of reflect.Type) {
		for field := range of.Fields() {
			tag, name := maps.Collect(pairs(field.Tag)), of.Name()+"."+field.Name
			for key := range tag {
				if !slices.Contains(known, key) {
					t.Errorf("%s has an unknown tag %s", name, key)
				}
			}
			if kind, _ := parseForm(tag["form"]); kind == URL && tag["form"] != "" && !strings.HasSuffix(tag["form"], "URL") {
				t.Errorf("%s has an unknown form %s", name, tag["form"])
			}
			if (tag["pattern"] == "") != (tag["must"] == "") {
				t.Errorf("%s has a pattern without an error message, or the other way around", name)
			}
			switch {
			case tag["setting"] != "":
				s := newSetting(field)
				if number := s.Kind == Int || s.Kind == Size || s.Kind == Duration; number != (s.Min < s.Max) {
					t.Errorf("%s ranges from %d to %d", name, s.Min, s.Max)
				}
			case tag["table"] != "":
				check(field.Type.Elem())
			case field.Type.Kind() == reflect.Struct:
				check(field.Type)
			case field.IsExported() && field.Name != "Sections":
				t.Errorf("%s is no setting", name)
			}
		}
	}
	check(reflect.TypeFor[Config]())
	for _, table := range Tables() {
		for _, name := range table.Identity {
			if !slices.ContainsFunc(table.Keys, func(s Setting) bool { return s.Name == name }) {
				t.Errorf("%s has no key %s", table.Name, name)
			}
		}
		if !strings.HasPrefix(table.Example, "{") {
			t.Errorf("%s has the example %s", table.Name, table.Example)
		}
	}
}
