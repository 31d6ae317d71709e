package consent

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPlainName(t *testing.T) {
	for _, tt := range []struct{ name, given, want string }{
		{"plain", "ERP & Sons <1>", "ERP & Sons <1>"},
		{"other scripts", "Büro 倉庫 מחסן", "Büro 倉庫 מחסן"},
		{"composed letters", "e\u0301 \u0e01\u0e33\u0e48", "e\u0301 \u0e01\u0e33\u0e48"},
		{"none", "", ""},
		{"blanks alone", " \t\u00a0\u3000\u2800\u3164\u200b", ""},
		{"blanks", "\n A \r\n\t B\u2028C\u2800D ", "A B C D"},
		{"control characters", "A\x00\x07\x1b[31mB\u0085C", "A[31mB C"},
		{"direction", "\u202eA\u2066B\u2069\u200fC\u061c", "ABC"},
		{"invisible", "A\u200b\u200d\u2060\ufeff\u00ad\ufe0f\U000e0041B", "AB"},
		{"private and unassigned", "A\ue000\U000f0000\uffff\u0378B", "AB"},
		{"not UTF-8", "A\xff\xfeB", "A\ufffd\ufffdB"},
		{"marks on marks", "A" + strings.Repeat("\u0301", 40) + "B", "A\u0301\u0301\u0301B"},
		{"longest", strings.Repeat("é", maxNameLength), strings.Repeat("é", maxNameLength)},
		{"too long", strings.Repeat("é", maxNameLength) + " x", strings.Repeat("é", maxNameLength) + "…"},
		{"blanks at the limit", strings.Repeat("é", maxNameLength) + "  ", strings.Repeat("é", maxNameLength)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := plainName(tt.given); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzPlainName checks that a plain name is short and one visible line, and is its own plain
// name.
func FuzzPlainName(f *testing.F) {
	f.Add("ERP & Sons")
	f.Add("\u202eA\x00B\u2028\u3164" + strings.Repeat("e\u0301\u0301\u0301\u0301", 80))
	f.Fuzz(func(t *testing.T, name string) {
		plain := plainName(name)
		for _, r := range plain {
			if !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) || unicode.IsSpace(r) && r != ' ' {
				t.Errorf("%q has %U", plain, r)
			}
		}
		if utf8.RuneCountInString(plain) > 2*maxNameLength || strings.TrimSpace(plain) != plain {
			t.Errorf("%q is not a short line", plain)
		}
		if again := plainName(strings.TrimSuffix(plain, "…")); !strings.HasPrefix(plain, again) {
			t.Errorf("%q becomes %q", plain, again)
		}
	})
}
