package magento1

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
)

func TestValue(t *testing.T) {
	for _, c := range []struct {
		name string
		kind adapter.Kind
		text string
		want adapter.Value
	}{
		{"integer", adapter.KindInteger, "-12", adapter.IntegerValue(-12)},
		{"not an integer", adapter.KindInteger, "12.5", adapter.NullValue()},
		{"integer out of range", adapter.KindInteger, "99999999999999999999", adapter.NullValue()},
		{"decimal", adapter.KindDecimal, "12.5", adapter.TextValue("12.5000")},
		{"decimal with more places", adapter.KindDecimal, "0.00005", adapter.TextValue("0.0001")},
		{"negative decimal that rounds to zero", adapter.KindDecimal, "-0.00001", adapter.TextValue("0.0000")},
		{"decimal with an exponent", adapter.KindDecimal, "1e999999999", adapter.NullValue()},
		{"fraction", adapter.KindDecimal, "1/3", adapter.NullValue()},
		{"decimal too long", adapter.KindDecimal, strings.Repeat("1", 65), adapter.NullValue()},
		{"integer with decimal places that are 0", adapter.KindInteger, "3.0000", adapter.IntegerValue(3)},
		{"time", adapter.KindTime, "2012-01-02 03:04:05", adapter.TextValue("2012-01-02 03:04:05")},
		{"time with a fraction", adapter.KindTime, "2012-01-02 03:04:05.123456", adapter.TextValue("2012-01-02 03:04:05")},
		{"date", adapter.KindTime, "2012-01-02", adapter.TextValue("2012-01-02 00:00:00")},
		{"zero date", adapter.KindTime, "0000-00-00 00:00:00", adapter.NullValue()},
		{"zero month", adapter.KindTime, "2012-00-00 00:00:00", adapter.NullValue()},
		{"text", adapter.KindText, "漢字", adapter.TextValue("漢字")},
		{"text with a zero byte and invalid UTF-8", adapter.KindText, "a\x00b\xff", adapter.TextValue("a\uFFFDb\uFFFD")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := valueOf(textDecoder{}, c.kind, sql.RawBytes(c.text)); !got.Equal(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if got, _ := valueOf(textDecoder{}, adapter.KindText, nil); got.Kind() != adapter.Null {
		t.Errorf("NULL is %v", got)
	}
	if got := splitLines("a\r\nb\rc\nd"); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("lines %q", got)
	}
}

// FuzzValue checks that any column text is converted to a value of the kind or to null.
func FuzzValue(f *testing.F) {
	for _, text := range []string{"", "0", "-0.00004", "0000-00-00", "2012-01-02 03:04:05", "9999999999.99999", ".", "+-1", "a\r\nb"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		valueOf := func(kind adapter.Kind, text string) adapter.Value {
			v, _ := valueOf(textDecoder{}, kind, sql.RawBytes(text))
			return v
		}
		if v := valueOf(adapter.KindDecimal, text); v.Kind() == adapter.Text {
			if whole, places, _ := strings.Cut(v.Text(), "."); len(places) != 4 || whole == "" || whole == "-" {
				t.Errorf("decimal %q of %q", v.Text(), text)
			}
		}
		if v := valueOf(adapter.KindTime, text); v.Kind() == adapter.Text {
			if _, err := time.Parse(time.DateTime, v.Text()); err != nil || v.Text() < "0001" {
				t.Errorf("time %q of %q", v.Text(), text)
			}
		}
		for _, line := range valueOf(adapter.KindTexts, text).Texts() {
			if strings.ContainsAny(line, "\r\n\x00") {
				t.Errorf("line %q of %q", line, text)
			}
		}
		if v := valueOf(adapter.KindInteger, text); v.Kind() != adapter.Integer && v.Kind() != adapter.Null {
			t.Errorf("integer %v of %q", v, text)
		}
	})
}

// FuzzText checks that texts of any bytes and character set can be stored, and that no
// file is outside of the media folder.
func FuzzText(f *testing.F) {
	for _, charset := range []string{"", "utf-8", "windows-1252", "gbk", "shift_jis"} {
		f.Add("Ta\xc3\xaable\x00", charset)
		f.Add("/../\xff/a.png", charset)
	}
	f.Fuzz(func(t *testing.T, text, charset string) {
		d, err := newTextDecoder(charset)
		if err != nil {
			return
		}
		s, ok := d.Decode([]byte(text))
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Errorf("%q", s)
		}
		if ok && strings.Contains(s, "\uFFFD") && utf8.ValidString(text) != strings.Contains(text, "\uFFFD") {
			t.Errorf("%q is %q without a problem", text, s)
		}
		isEncodedTwice(s)
		b := &imageBatch{imageReader: &imageReader{d: &Database{conn: &connection{conn: &conn{Text: d}}}}}
		if file, ok := b.fileOf(sql.RawBytes(text)); ok && (!filepath.IsLocal(file) || file == ".") {
			t.Errorf("file %q of %q", file, text)
		}
	})
}

// FuzzTree checks that the categories that are left lead to the root.
func FuzzTree(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 3, 9, 7, 6})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, parents []byte) {
		tree := &categoryTree{map[int64]int64{}}
		for id, parent := range parents {
			tree.parentOf[int64(id)] = int64(parent)
		}
		tree.prune()
		for id := range tree.parentOf {
			at := id
			for range parents {
				if at > rootCategory && at < int64(len(parents)) {
					at = int64(parents[at])
				}
			}
			if at != rootCategory {
				t.Errorf("category %d of %v", id, parents)
			}
		}
		for id := range parents {
			if at := int64(id); at > rootCategory && int64(parents[id]) == rootCategory && !tree.has(at) {
				t.Errorf("category %d of %v is gone", id, parents)
			}
		}
	})
}

// TestLeadingNumber checks which number the legacy store reads of a text.
func TestLeadingNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "0", " ": "0", "x1": "0", "1": "1", "1.00000": "1", "+1": "1", "1e2": "100", "0,5": "0", " 2.5kg": "2.5", "-3": "-3", "3.12345": "3.1235", ".5": "0.5", "100": "100", "1e999": "0", "-": "0",
	} {
		if got := leadingNumber(text); got != want {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
}
