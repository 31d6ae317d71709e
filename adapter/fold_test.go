package adapter

import "testing"

func TestFold(t *testing.T) {
	tests := []struct{ name, a, b string }{
		{"letter case", "Kettle", "kETTLE"},
		{"accent", "Café", "cafe"},
		{"capital with accent", "ÉCOLE", "ecole"},
		{"sharp s", "Weiß", "weis"},
		{"trailing blanks", "lamp  ", "lamp"},
		{"umlaut", "Kärnten", "Karnten"},
		{"dotted capital", "İ", "i"},
		{"only blanks", "   ", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if Fold(test.a) != Fold(test.b) {
				t.Errorf("Fold(%q) = %q, Fold(%q) = %q: want the same", test.a, Fold(test.a), test.b, Fold(test.b))
			}
		})
	}
	different := []struct{ name, a, b string }{
		{"leading blank", " lamp", "lamp"},
		{"letters without a base", "øre", "ore"},
		{"ligature", "æ", "ae"},
		{"sharp s is one letter", "weiss", "weiß"},
		{"trailing tab", "lamp\t", "lamp"},
	}
	for _, test := range different {
		t.Run(test.name, func(t *testing.T) {
			if Fold(test.a) == Fold(test.b) {
				t.Errorf("Fold(%q) = Fold(%q) = %q: want different", test.a, test.b, Fold(test.a))
			}
		})
	}
}

func TestFoldSortsSignsAfterLetters(t *testing.T) {
	if Fold("zebra") >= Fold("_zebra") {
		t.Error("want z before _, as in the original's collation")
	}
}

func TestFoldWithBlanksTrailingBlanks(t *testing.T) {
	if got := FoldWithBlanks("lämp% "); got != "LAMP% " {
		t.Errorf("got %q", got)
	}
}

func FuzzFold(f *testing.F) {
	for _, seed := range []string{"", "Weiß ", "\xff\xfe", "İı", "é", "日本"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if once, twice := Fold(s), Fold(Fold(s)); once != twice {
			t.Errorf("Fold(%q) = %q folds again to %q", s, once, twice)
		}
	})
}
