package reststore

import "testing"

func TestBuiltinMappings(t *testing.T) {
	files, err := embedded.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			name := f.Name()[:len(f.Name())-len(".yaml")]
			content, ok := Mapping(name)
			if !ok {
				t.Fatal("not found")
			}
			b, err := Open(Options{Mapping: content, File: f.Name(), URL: "http://127.0.0.1:1", User: "u", Secret: "s"})
			if err != nil {
				t.Fatal(err)
			}
			if b.Name() != name {
				t.Errorf("the mapping's name is %s", b.Name())
			}
		})
	}
	if _, ok := Mapping("../doc"); ok {
		t.Error("Mapping accepted a name with a path")
	}
}
