package pipeline

import (
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A Run is a call with the data that only the pipeline needs.
type Run struct {
	resource.Call
	clientAddress string // the client's network address, if known
	body          []byte
	bodyFormat    contract.Format
	unchanged     bool   // the body is an update that changes nothing
	form          []byte // a form-encoded body that authentication has read
	formRead      bool
	reserved      int64 // bytes reserved from the request budget until the call has been answered
	shadowRead    bool  // a repetition, for comparison only, of a read that the other system has answered
}
