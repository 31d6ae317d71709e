package contracttests

import (
	"bytes"
	_ "embed" // for openmageReplies
	"encoding/json"
	"fmt"
	"slices"
)

//go:embed openmage/replies.json
var openmageReplies []byte

// laterReplies are the replies of a later version of the original to a recorded exchange.
type laterReplies struct {
	Name    string      `json:"name"`    // of the exchange
	Clause  string      `json:"clause"`  // the section of the specification that the difference shows
	Replies []*Response `json:"replies"` // by step; nil if it is the recorded one
}

// ExchangesIn returns the built-in exchanges that hold on the demo store in dialect d: those of
// [Exchanges], in Documented after those of [DocumentedExchanges], and in OpenMage with the replies in
// which that version differs. The caller may modify the slice.
func ExchangesIn(d Dialect) ([]Exchange, error) {
	all, err := Exchanges()
	if err != nil || d == Magento {
		return all, err
	}
	if d == Documented {
		documented, err := DocumentedExchanges()
		return append(documented, all...), err
	}
	if err := replaceReplies(all, openmageReplies); err != nil {
		return nil, fmt.Errorf("contracttests: openmage/replies.json: %w", err)
	}
	return all, nil
}

// replaceReplies replaces the responses of exchanges by the replies in data. It returns an error if
// these name an exchange that does not exist, or have not one entry for each step.
func replaceReplies(exchanges []Exchange, data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var later []laterReplies
	if err := dec.Decode(&later); err != nil {
		return err
	}
	for _, l := range later {
		at := slices.IndexFunc(exchanges, func(e Exchange) bool { return e.Name == l.Name })
		if at < 0 || len(exchanges[at].Steps) != len(l.Replies) {
			return fmt.Errorf("%q is no exchange of %d steps", l.Name, len(l.Replies))
		}
		e := &exchanges[at]
		e.Clause += "; " + l.Clause
		for i, reply := range l.Replies {
			if reply == nil {
				continue
			}
			e.Steps[i].Response = *reply
			if err := e.Steps[i].validate(); err != nil {
				return fmt.Errorf("exchange %q, step %d: %w", l.Name, i+1, err)
			}
		}
	}
	return nil
}
