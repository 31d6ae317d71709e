package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strings"
)

const (
	noValue   = "-" // the state of a value that was never set or was unset
	nullValue = "0" // the state of null
	plain     = "=" // begins the states of numbers
	digested  = "#" // begins the states of other values
	digestLen = 16  // bytes of a checksum
)

// State returns a text that is the same for equal values of an attribute. Only a number can
// be read from it, so that entries hold no personal data.
func State(a *adapter.Attribute, v adapter.Value) string {
	switch {
	case a.Kind == adapter.KindRecords && len(v.Records()) == 0, v.Kind() == adapter.Null:
		return nullValue
	case v.Kind() == adapter.Absent, v.Kind() == adapter.Unset:
		return noValue
	}
	if a.Kind == adapter.KindInteger || a.Kind == adapter.KindDecimal {
		return plain + v.Text()
	}
	sum := sha256.Sum256([]byte(canonicalText(v)))
	return digested + hex.EncodeToString(sum[:digestLen])
}

// canonicalText returns a text that is the same for equal values. The order and the keys of
// records, which each system chooses, do not count.
func canonicalText(v adapter.Value) string {
	if v.Kind() != adapter.Records {
		return strings.Join(append(v.Texts(), v.Text()), "\x00")
	}
	all := make([]string, len(v.Records()))
	for i, r := range v.Records() {
		r = r.Clone()
		if at, ok := r.Schema.Index(r.Schema.Key); ok {
			r.Values[at] = adapter.Value{}
		}
		text, _ := json.Marshal(adapter.EncodeJSON(r)) // only maps with text keys
		all[i] = string(text)
	}
	slices.Sort(all)
	return strings.Join(all, "\x00")
}

// Number returns the number in a state of an attribute of kind decimal, in ten-thousandths.
// ok is false for other states.
func Number(state string) (n int64, ok bool) {
	text, ok := strings.CutPrefix(state, plain)
	if !ok {
		return 0, false
	}
	return adapter.ParseDecimal(text)
}
