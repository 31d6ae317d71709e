package handlers

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestDecodeBase64(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{ // want "" means refused
		{"whole quartets", "YWJj", "abc"},
		{"two leftover digits, padded", "YQ==", "a"},
		{"three leftover digits, padded", "YWI=", "ab"},
		{"two leftover digits, unpadded", "YQ", "a"},
		{"three leftover digits, unpadded", "YWI", "ab"},
		{"all digits of the alphabet", "+/+/", "\xfb\xff\xbf"},
		{"blanks, tabs, line breaks", " Y\tW\r\nJ j\n", "abc"},
		{"blanks in the padding", "YQ= \n=", "a"},
		{"bits after the last byte", "YR==", "a"},
		{"a number", "123", "\xd7\x6d"},

		{"empty", "", ""},
		{"blanks alone", " \n", ""},
		{"one leftover digit", "a", ""},
		{"one leftover digit after a quartet", "YWJjZ", ""},
		{"too little padding", "YQ=", ""},
		{"padding after whole quartets", "YWJj=", ""},
		{"too much padding", "YWI==", ""},
		{"one leftover digit, padded", "iVBO=", ""},
		{"padding alone", "====", ""},
		{"padding in the middle", "YQ==YQ==", ""},
		{"the URL alphabet", "-_-_", ""},
		{"an invalid digit", "!!!notbase64", ""},
		{"a vertical tab", "YW\vJj", ""},
		{"a Unicode line break", "YW\u0085Jj", ""},
		{"a data URL", "data:image/png;base64,YWJj", ""},
		{"a zero byte", "YWJj\x00", ""},
		{"invalid UTF-8", "YWJj\xff", ""},
	} {
		if got, ok := decodeBase64(tt.text); ok != (tt.want != "") || ok && string(got) != tt.want {
			t.Errorf("%s: %q, %t, want %q", tt.name, got, ok, tt.want)
		}
	}
}

// FuzzDecodeBase64 checks that encoding the result gives the same digits, except for the
// unused bits of the last one.
func FuzzDecodeBase64(f *testing.F) {
	for _, seed := range []string{"YWJj", "YQ==", "YQ", " Y\r\nQ", "====", "a", "+/", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		content, ok := decodeBase64(text)
		if !ok {
			return
		}
		digits := strings.TrimRight(strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(text), "=")
		again := base64.RawStdEncoding.EncodeToString(content)
		if len(again) != len(digits) || again[:len(again)-1] != digits[:len(digits)-1] {
			t.Errorf("%q gives %q, which is %q", text, content, again)
		}
	})
}
