package mirror

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// A Sender sends requests to the legacy store as an Admin. It is safe for concurrent use.
type Sender struct {
	System *proxy.System
	Signer *auth.Signer // of an Admin there
	Table  *contract.Table
	// Timeout limits a whole request.
	Timeout time.Duration
}

// maxAnswer is the longest reply that is read. Replies to writes are empty or name faults.
const maxAnswer = 64 << 10

// send sends a request and returns the complete reply. It returns the errors of
// [proxy.System.Send].
func (s *Sender) send(ctx context.Context, r Request) (*proxy.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	path := contract.Base + r.Path
	address, _ := s.Table.Address(r.Method, path)
	call := proxy.Call{Address: address, Sign: func(scheme, host, target string) (string, error) {
		request := &auth.Request{Method: r.Method, Scheme: scheme, Host: host, Target: target}
		if r.Body != nil {
			request.ContentType = jsonType
		}
		return s.Signer.Sign(request, time.Now())
	}}
	return s.System.Send(ctx, r.Method, path, r.Body, call, maxAnswer)
}

const jsonType = "application/json"

// refusal returns the faults in a reply with which the legacy store refuses a request, with its
// status if the reply names none.
func refusal(answer *proxy.Answer) contract.Faults {
	var body struct {
		Messages struct {
			Error []struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(answer.Body, &body) // another body names no faults
	var faults contract.Faults
	for _, e := range body.Messages.Error {
		if e.Code >= http.StatusBadRequest && e.Code < http.StatusInternalServerError {
			faults = append(faults, contract.Fault{Code: e.Code, Message: e.Message})
		}
	}
	if len(faults) == 0 {
		faults = append(faults, contract.Fault{Code: answer.Status, Message: "The request data is invalid."})
	}
	return faults
}

// messages returns the texts of faults for an operator.
func messages(faults contract.Faults) string {
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.Message
	}
	return strings.Join(texts, " ")
}
