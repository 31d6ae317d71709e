package handlers

import (
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

// TestURLKeyOfName checks that a key made from a name is not too long.
func TestURLKeyOfName(t *testing.T) {
	for name, want := range map[string]string{
		"Full Product!": "full-product", "中": "",
		strings.Repeat("k", 254) + " more": strings.Repeat("k", 254), strings.Repeat("щ", 255): strings.Repeat("sch", 85),
	} {
		if got := URLKeyFromName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestURLKey checks the rules and examples of products 6.
func TestURLKey(t *testing.T) {
	keys := newURLKeys(contract.Magento())
	for text, want := range map[string]string{
		"Full Product!":               "full-product",
		"Some Key/With.dots":          "some-key-with-dots",
		`  Ünï "q" & <b>x</b>/y  `:    "uni-q-b-x-b-y",
		"1.5":                         "1-5",
		"中":                           "",
		"":                            "",
		"---":                         "",
		"salt &amp; pepper":           "salt-and-pepper",
		"me@home":                     "meathome",
		"©®™":                         "crtm",
		"Straße":                      "strasse",
		"ÆŒÞ":                         "aeoep",
		"Ångström, Łódź, Đà Nẵng":     "angstrom-lodz-da-nang",
		"e\u0301te\u0301":             "ete",
		"Чайник":                      "chainik",
		"объект Ёлка":                 "obekt-yolka",
		"קומקום":                      "kvmkvm",
		"a中b":                         "a-b",
		"A_b":                         "a-b",
		strings.Repeat("k", 300):      strings.Repeat("k", 300), // truncated only when stored
		"😀 kettle 😀":                  "kettle",
		"broken \xff utf-8":           "broken-utf-8",
		"ß":                           "ss",
		"І ї є Ґ":                     "i-i-ie-g",
		"ﬁne":                         "ne",
		"İstanbul ılık":               "istanbul-ilik",
		"kettle-steel":                "kettle-steel",
		"\u0301":                      "",
		"zero\u200bwidth\u00a0blanks": "zero-width-blanks",
	} {
		t.Run(text, func(t *testing.T) {
			if got := keys.Generate(text); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// FuzzURLKey checks the form of a key, and that the key of a key is itself.
func FuzzURLKey(f *testing.F) {
	for _, seed := range []string{"Full Product!", "Straße &amp; Чайник", "\xff\u0301ß", "--"} {
		f.Add(seed)
	}
	keys := newURLKeys(contract.Magento())
	form := regexp.MustCompile(`^(?:[0-9a-z]+(?:-[0-9a-z]+)*)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		key := keys.Generate(text)
		if !form.MatchString(key) {
			t.Errorf("%q gives %q", text, key)
		}
		if again := keys.Generate(key); again != key {
			t.Errorf("the key of %q is %q, and its key %q", text, key, again)
		}
	})
}

// TestOpenMageURLKey checks the keys that OpenMage 20.18 makes of names (openmage 4).
func TestOpenMageURLKey(t *testing.T) {
	keys := newURLKeys(contract.OpenMage())
	for text, want := range map[string]string{
		"Tea & Coffee":   "tea-and-coffee",
		"50% off":        "50-percent-off",
		"№ 5":            "no-5",
		"中文 茶壶":          "zhong-wen-cha-hu",
		"万广厂汉":           "wan-guang-chang-han",
		"女地a閡b绿":         "nu-dea-aib-lu",
		"Ärger über Öl":  "arger-uber-ol",
		"Ελληνικά Ωμέγα": "ellenika-omega",
		"Привет мир щётка объём": "privet-mir-setka-ob-em",
		"Łódź żółw":                  "lodz-zolw",
		"Straße":                     "strasse",
		"Smörgåsbord ÆØÅ":            "smorgasbord-aeoa",
		"naïve café":                 "naive-cafe",
		"ø @ © ® ™ € £ $ ½ ² µ":      "o-at-c-r-tm-eur-gbp-1-2-2-u",
		"“quotes” – dash — em … ‘x’": "quotes-dash-em-x",
		"Ünï/\"q\"":                  "uni-q",
		"İstanbul ışık ğüşçö":        "istanbul-isik-gusco",
		"עברית":                      "bryt",
		"Đặng Việt":                  "dang-viet",
		"ﬁ ﬂ":                        "fi-fl",
		"x_y.z,a;b":                  "x-y-z-a-b",
		"a&amp;b":                    "a-and-amp-b",
		"Þór ð ŋ ĸ ſ":                "thor-d-n-q-s",
		"Ψωμί αυγό ευ Χριστός":       "psomi-augo-eu-christos",
		"Українська їжак ґ є":        "ukrains-ka-izak-g-e",
		"Čeština řeřicha":            "cestina-rericha",
		"'lone'":                     "lone",
		"+ = # ~ ^ |":                "",
		"Naïve’s":                    "naive-s",
		"a中b":                        "a-zhongb",
		"me@home":                    "me-at-home",
	} {
		if got := keys.Generate(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
