package mapping_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/replycache"
)

// TestReplyFormat fails if replies to Guests look different than before. Then replycache.Format
// must be changed, so that processes of both versions do not share replies, and the hashes
// here.
func TestReplyFormat(t *testing.T) {
	t.Parallel()
	const format = 4
	for d, want := range map[*contract.Dialect]string{
		contract.Documented(): "04b53f17dde2c46a",
		contract.Magento():    "2d907ef8c98d85a2",
	} {
		t.Run(d.Name, func(t *testing.T) {
			s := serveDemo(t, d, settings(), openDemo(t), nil)
			sum := sha256.New()
			for _, target := range guestTargets() {
				for _, accept := range []string{"application/json", "text/xml"} {
					r := s.serve(contract.Guest, "GET", target, "", "Accept", accept)
					fmt.Fprintf(sum, "%d %s %s\n", r.Status, r.ContentType, formKey.ReplaceAll(r.Body, []byte("form_key")))
				}
			}
			if got := hex.EncodeToString(sum.Sum(nil)[:8]); got != want || replycache.Format != format {
				t.Errorf("the replies of format %d have the hash %s, those of format %d had %s: change replycache.Format if it was not changed, and both here", replycache.Format, got, format, want)
			}
		})
	}
}
