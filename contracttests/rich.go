package contracttests

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for richReads
	"fmt"
	"io"
)

//go:embed rich/reads.json.gz
var richReads []byte

// RichExchanges returns recorded reads of a larger shop than the demo store: with three
// websites, store views that have values of their own, all types of products, and orders of
// every state. They hold in the dialect magento, for a server with the records and the
// credentials of that shop. Where the original leaves the order of records open, they are
// sorted by id. The caller may modify the slice.
func RichExchanges() ([]Exchange, error) {
	const name = "reads.json"
	unpacked, err := gzip.NewReader(bytes.NewReader(richReads))
	if err == nil {
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(unpacked, maxExchangeFile)); err == nil {
			return decodeExchanges(name, data, (*Step).validate)
		}
	}
	return nil, fmt.Errorf("contracttests: %s: %w", name, err)
}
