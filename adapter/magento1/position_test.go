package magento1_test

import (
	"github.com/portico-commerce/portico/adapter/magento1"
	"strings"
	"testing"
)

func TestParsePosition(t *testing.T) {
	p := magento1.Position{File: "bin.000012", Offset: 1 << 40, GTID: "0-1-100,3-2-7", Server: "a.uid:x=="}
	for _, c := range []struct {
		name, text string
		want       magento1.Position
		ok         bool
	}{
		{"none", "", magento1.Position{}, true},
		{"as String returns it", p.String(), p, true},
		{"set of MySQL", `{"gtid":"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:11-18,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:tag:1"}`,
			magento1.Position{GTID: "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:11-18,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:tag:1"}, true},
		{"field of a later version", `{"file":"bin.1","later":true}`, magento1.Position{File: "bin.1"}, true},
		{"not JSON", "bin.000012:4", magento1.Position{}, false},
		{"SQL in a GTID", `{"gtid":"0-1-1'; DROP TABLE x"}`, magento1.Position{}, false},
		{"path as a file", `{"file":"../bin.000001"}`, magento1.Position{}, false},
		{"file without a number", `{"file":"bin"}`, magento1.Position{}, false},
		{"place without a file", `{"offset":4}`, magento1.Position{}, false},
		{"negative place", `{"file":"bin.1","offset":-4}`, magento1.Position{}, false},
		{"control character", `{"file":"bin\u0000.1"}`, magento1.Position{}, false},
		{"too long", `{"gtid":"` + strings.Repeat("0", 1<<20) + `"}`, magento1.Position{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := magento1.ParsePosition(c.text)
			if got != c.want || (err == nil) != c.ok {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// FuzzParsePosition checks that texts are either refused or stand for a position that is the
// same after it has been stored.
func FuzzParsePosition(f *testing.F) {
	for _, p := range []magento1.Position{{}, {File: "bin.000012", Offset: 4, GTID: "0-1-100", Server: "x"}} {
		f.Add(p.String())
	}
	f.Add(`{"file":"\xff.1"}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := magento1.ParsePosition(text)
		if err != nil {
			return
		}
		if again, err := magento1.ParsePosition(p.String()); err != nil || again != p {
			t.Errorf("%+v is %+v when read again: %v", p, again, err)
		}
	})
}
