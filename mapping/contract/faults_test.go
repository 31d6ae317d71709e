package contract

import (
	"strings"
	"testing"
)

func TestEveryFaultHasItsEntries(t *testing.T) {
	for key := range faultCount {
		for _, d := range Dialects() {
			f := faults[key].of(d)
			if f.Status() == 0 || f.Message == "" && !f.Bare {
				t.Errorf("fault %d has no entry in %s", key, d.Name)
			}
		}
	}
}

func TestFaultFormatsArguments(t *testing.T) {
	tests := []struct {
		dialect *Dialect
		want    Fault
	}{
		{Magento(), Fault{Code: 400, Message: "StockItem #7 not found."}},
		{Documented(), Fault{Code: 404, Message: "Resource not found."}},
	}
	for _, test := range tests {
		t.Run(test.dialect.Name, func(t *testing.T) {
			if got := test.dialect.Fault(ItemUnknown, 7); got.Code != test.want.Code || got.Message != test.want.Message {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestFaultDoesNotInterpretArguments(t *testing.T) {
	got := Documented().Fault(MediaTypeNotSupported, "100%d").Message
	if !strings.HasSuffix(got, `"100%d"`) {
		t.Errorf("got %s", got)
	}
}
