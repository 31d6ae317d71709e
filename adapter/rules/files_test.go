package rules

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestValidFileName(t *testing.T) {
	for name, want := range map[string]bool{
		"f/r/front.png": true, "a/b": true, "_/_/..png": true, "A/-/a_b-c.d.JPG": true,
		"a/" + strings.Repeat("b", 253): true, "a/" + strings.Repeat("b", 254): false,
		"": false, "front.png": false, "/f/front.png": false, "f/front.png/": false, "f//front.png": false,
		"./front.png": false, "../front.png": false, "f/../front.png": false, "f/..": false, "f/.": false,
		`f\front.png`: false, `f/r\front.png`: false, "f/front png": false, "f/frönt.png": false,
		"f/front.png\n": false, "f/\x00.png": false, "f/front.png:stream": false, "~/front.png": false,
	} {
		if got := ValidFileName(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// FuzzValidFileName checks that a valid name is a path below the folder.
func FuzzValidFileName(f *testing.F) {
	for _, name := range []string{"f/r/front.png", "../x", "a/./b", "a/b/", "a//b", "C:/b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !ValidFileName(name) {
			return
		}
		path := filepath.Join("/media", filepath.FromSlash(name))
		if rest, err := filepath.Rel("/media", path); err != nil || filepath.ToSlash(rest) != name || !filepath.IsLocal(rest) {
			t.Errorf("%q is %q", name, path)
		}
	})
}

// FuzzFileSeries checks that the series and the number of a name reproduce the name.
func FuzzFileSeries(f *testing.F) {
	for _, name := range []string{"i/m/image_2.png", "i/m/image_02.png", "a/b_1", "a.b_1", "a/b_1.c.d", "a/b_999999999999999999.c", "a_1/b.c"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		series, number := FileSeries(name)
		if (series == "") != (number == 0) {
			t.Fatalf("%q: %q, %d", name, series, number)
		}
		if number != 0 && numberedName(series, number) != name {
			t.Errorf("%q is number %d of %q, which makes %q", name, number, series, numberedName(series, number))
		}
	})
}
