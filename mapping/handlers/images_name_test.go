package handlers

import (
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

func TestImageName(t *testing.T) {
	list := codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "0", Value: codec.TextNode("x")}}}
	unnamed := [2]string{contract.DefaultImageName, contract.DefaultImageName}
	tests := []struct {
		name  string
		sent  codec.Node
		want  [2]string // documented, magento
		named [2]bool
	}{
		{"a text", codec.TextNode("front"), [2]string{"front", "front"}, [2]bool{true, true}},
		{"the default name itself", codec.TextNode("image"), unnamed, [2]bool{true, true}},
		{"absent", codec.Node{}, unnamed, [2]bool{}},
		{"empty", codec.TextNode(""), unnamed, [2]bool{}},
		{"the text 0", codec.TextNode("0"), unnamed, [2]bool{}},
		{"zero", codec.NumberNode("0"), unnamed, [2]bool{}},
		{"false", codec.Node{Kind: codec.False}, unnamed, [2]bool{}},
		{"an empty list", codec.Node{Kind: codec.Struct}, unnamed, [2]bool{}},
		{"a number", codec.NumberNode("12.50"), [2]string{"12.5", "12.5"}, [2]bool{true, true}},
		{"true", codec.Node{Kind: codec.True}, [2]string{"1", "1"}, [2]bool{true, true}},
		{"a list", list, [2]string{contract.DefaultImageName, "Array"}, [2]bool{false, true}},
	}
	for _, tt := range tests {
		for column, d := range []*contract.Dialect{contract.Documented(), contract.Magento()} {
			if got, named := imageName(d, &tt.sent); got != tt.want[column] || named != tt.named[column] {
				t.Errorf("%s, %s: %q, %t", tt.name, d.Name, got, named)
			}
		}
	}
}

func TestImageFile(t *testing.T) {
	long := strings.Repeat("a", contract.MaxImageNameBytes-len(".png"))
	for _, tt := range []struct{ name, sent, extension, want string }{
		{"plain", "front", "png", "f/r/front.png"},
		{"letter case", "Front", "jpg", "F/r/Front.jpg"},
		{"an extension in the name", "front.png", "png", "f/r/front.png.png"},
		{"blanks and brackets", "my photo (1)", "png", "m/y/my_photo_1_.png"},
		{"a backslash", `a\b`, "png", "a/_/a_b.png"},
		{"non-Latin letters", "café x", "png", "c/a/caf_x.png"},
		{"several invalid characters beside an underscore", "a_ é_b", "png", "a/_/a___b.png"},
		{"invalid UTF-8", "a\xff\xfeb", "png", "a/_/a_b.png"},
		{"control characters", "a\x01\r\nb", "png", "a/_/a_b.png"},
		{"one letter", "a", "gif", "a/_/a.gif"},
		{"a leading dot", ".htaccess", "png", "_/h/.htaccess.png"},
		{"a dot alone", ".", "png", "_/_/..png"},
		{"two dots", "..", "png", "_/_/...png"},
		{"only underscores", "___", "png", "f/i/file.png"},
		{"only invalid characters", "äöü", "gif", "f/i/file.gif"},
		{"a blank", " ", "png", "f/i/file.png"},
		{"underscores before an extension", "__.x", "png", "_/_/__.x.png"},
		{"the longest", long, "png", "a/a/" + long + ".png"},
		{"one character too long", long + "a", "png", ""},
		{"too long before invalid runs are merged", strings.Repeat(" ", len(long)+1), "png", ""},
		{"a folder", "sub/pic", "png", ""},
		{"the parent folder", "../up", "png", ""},
		{"a slash alone", "/", "png", ""},
		{"NUL", "a\x00b", "png", ""},
	} {
		if got, ok := imageFile(tt.sent, tt.extension); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, %t, want %q", tt.name, got, ok, tt.want)
		}
	}
}

var imageFileForm = regexp.MustCompile(`\A([A-Za-z0-9_-])/([A-Za-z0-9_-])/[A-Za-z0-9_.-]+\.png\z`)

// FuzzImageFile checks that for any name the file is below two folders of one character,
// and nowhere else, and that its path is short enough.
func FuzzImageFile(f *testing.F) {
	for _, seed := range []string{"front", "..", "../x", ".", "a b", "é", "\x00", "_", strings.Repeat("x", 300), "a\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" {
			return
		}
		path, ok := imageFile(name, "png")
		if !ok {
			if path != "" || !strings.ContainsAny(name, "/\x00") && len(name) < contract.MaxImageNameBytes-4 {
				t.Errorf("%q: %q", name, path)
			}
			return
		}
		if !imageFileForm.MatchString(path) || len(path) > len("f/r/")+contract.MaxImageNameBytes {
			t.Errorf("%q: %q", name, path)
		}
	})
}
