package migrate

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
)

// A comparedRequest is a request that is sent to both systems.
type comparedRequest struct {
	step   *contracttests.Step
	target string // path and query
	call   string // name of the call
	route  *contract.Route
	record string // keys of the addressed record, with slashes between them
	finds  bool   // the request lists records that are then read one by one
}

// A replay sends all requests to both systems and compares the answers.
type replay struct {
	*comparer
	requests []comparedRequest
	done     int // guarded by mu
}

// plan collects the requests to send from the steps of exchanges, and records the reasons for
// leaving out the others.
func (r *replay) plan(exchanges []contracttests.Exchange) {
	for i := range exchanges {
		for j := range exchanges[i].Steps {
			step := unconditional(&exchanges[i].Steps[j])
			request := comparedRequest{step: step, target: requestTarget(step)}
			path, _, _ := strings.Cut(request.target, "?")
			address, inContract := r.routes.Address(step.Method, path)
			reason := ""
			switch {
			case step.Method != http.MethodGet:
				reason = "only GET requests are repeated, not " + step.Method
			case overridesMethod(step):
				reason = "a header replaces its method GET"
			case !inContract:
				reason = "its path is not below " + contract.Base
			case isSigned(step):
				reason = "it carries its own signature, which is valid only once"
			default:
				for k := range r.options.systems {
					if system := &r.options.systems[k]; reason == "" && !system.credentials.Has(step.As) {
						reason = fmt.Sprintf("the credentials of the %s have no %s", system.name, step.As)
					}
				}
			}
			if reason != "" {
				r.result.leaveOut(reason, r.redact(step.Method+" "+request.target))
				continue
			}
			request.call, request.route = address.Name(), address.Route
			request.record = r.recordOf(&address)
			r.requests = append(r.requests, request)
		}
	}
}

// unconditional returns a copy of s without the headers that shorten replies.
func unconditional(s *contracttests.Step) *contracttests.Step {
	whole := *s
	whole.Headers = maps.Clone(s.Headers)
	maps.DeleteFunc(whole.Headers, func(name, _ string) bool { return compare.ShortensReply(name) })
	return &whole
}

// overridesMethod reports whether s has a header that makes some servers execute a GET as
// a write.
func overridesMethod(s *contracttests.Step) bool {
	for name := range s.Headers {
		switch strings.ToLower(name) {
		case "x-http-method-override", "x-http-method", "x-method-override":
			return true
		}
	}
	return false
}

// isSigned reports whether s contains a recorded signature with a nonce. Such a step cannot
// be signed again for each system.
func isSigned(s *contracttests.Step) bool {
	const nonce = "oauth_nonce"
	if strings.Contains(s.Path, nonce) {
		return true
	}
	for _, value := range s.Headers {
		if strings.Contains(value, nonce) {
			return true
		}
	}
	return false
}

// requestTarget returns path and query of a step, without scheme and host.
func requestTarget(s *contracttests.Step) string {
	target, whole := strings.CutPrefix(s.Path, "!")
	if !whole {
		return contract.Base + target
	}
	target = strings.TrimPrefix(target, "{{base_url}}")
	if _, after, ok := strings.Cut(target, "://"); ok && !strings.HasPrefix(target, "/") {
		if slash := strings.IndexByte(after, '/'); slash >= 0 {
			return after[slash:]
		}
		return "/"
	}
	return target
}

// run sends all requests. It fails when ctx ends, when a system stops answering, and when
// a system rejects the credentials of all callers.
func (r *replay) run(ctx context.Context) (*Report, error) {
	defer r.bar.Clear()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group errgroup.Group
	group.SetLimit(r.options.parallel)
	for i := range r.requests {
		group.Go(func() error {
			if ctx.Err() == nil {
				r.compareOne(ctx, cancel, i)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return nil
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := r.checkCredentials(); err != nil {
		return nil, err
	}
	r.result.finish()
	return r.result, nil
}

// compareOne sends the request with the given index to both systems at the same time and
// records the differences. It calls cancel if a system has stopped answering.
func (r *replay) compareOne(ctx context.Context, cancel context.CancelCauseFunc, number int) {
	request := &r.requests[number]
	var answers [2]*compare.Answer
	var errs [2]error
	var group sync.WaitGroup
	for i := range r.options.systems {
		group.Go(func() { answers[i], errs[i] = r.ask(ctx, cancel, i, request.step) })
	}
	group.Wait()
	if ctx.Err() != nil {
		return
	}
	differences := compare.Replies(request.route, answers, errs, &r.options.tolerances)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(number, request, differences)
	r.done++
	r.bar.Show(r.done, len(r.requests), fmt.Sprintf("%d differ · %-30.30s", r.result.Different, request.target))
}
