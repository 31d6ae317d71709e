package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
	"github.com/portico-commerce/portico/mapping/compare"
	"github.com/portico-commerce/portico/mapping/contract"
)

// maxUnanswered is the number of consecutive unanswered requests to one system that ends a
// comparison.
const maxUnanswered = 5

// A comparedRequest is a request that is sent to both systems.
type comparedRequest struct {
	step   *contracttests.Step
	target string // path and query
	call   string // name of the call
	route  *contract.Route
}

// A replay sends all requests to both systems and compares the answers.
type replay struct {
	options  *compareOptions
	routes   *contract.Table
	requests []comparedRequest
	bar      *report.Bar

	mu            sync.Mutex // guards the fields below
	result        *comparison
	done          int
	unanswered    [2]int // consecutive requests that a system did not answer
	authenticated int    // requests of callers with credentials
	unauthorized  [2]int // how many of them a system answered with 401
}

// newReplay returns a replay without requests, for the opened systems of o. It draws a
// progress bar on progress if that is a terminal.
func newReplay(o *compareOptions, progress io.Writer) *replay {
	return &replay{
		options: o,
		routes:  contract.NewTable(contract.Routes(contract.StandardFields())),
		bar:     report.NewBar(progress),
		result:  newComparison(o.systems[0].client.BaseURL(), o.systems[1].client.BaseURL()),
	}
}

// plan collects the requests to send from the steps of exchanges, and records why the
// others are left out.
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
			r.requests = append(r.requests, request)
		}
	}
}

// unconditional returns a copy of s without the headers that let a server answer with less
// than the plain, complete body: conditions, ranges and encodings.
func unconditional(s *contracttests.Step) *contracttests.Step {
	whole := *s
	whole.Headers = maps.Clone(s.Headers)
	maps.DeleteFunc(whole.Headers, func(name, _ string) bool {
		return slices.Contains([]string{"accept-encoding", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range"}, strings.ToLower(name))
	})
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
func (r *replay) run(ctx context.Context) (*comparison, error) {
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
	for i := range r.options.systems {
		if s := &r.options.systems[i]; r.authenticated > 0 && r.unauthorized[i] == r.authenticated && r.unauthorized[1-i] < r.authenticated {
			return nil, fmt.Errorf("%s answers 401 to every caller with credentials: give its own with --%s-credentials FILE", s.client.BaseURL(), s.name)
		}
	}
	r.result.finish()
	return r.result, nil
}

// compareOne sends the request with the given index to both systems at the same time and
// records the differences. It calls cancel if a system has stopped answering.
func (r *replay) compareOne(ctx context.Context, cancel context.CancelCauseFunc, number int) {
	request := &r.requests[number]
	var replies [2]*contracttests.Reply
	var errs [2]error
	var group sync.WaitGroup
	for i := range r.options.systems {
		group.Go(func() { replies[i], errs[i] = r.options.systems[i].client.Do(ctx, request.step) })
	}
	group.Wait()
	if ctx.Err() != nil {
		return
	}
	var differences []compare.Difference
	if errs[0] == nil && errs[1] == nil {
		differences = compare.Answers(request.route, newAnswer(replies[0]), newAnswer(replies[1]), &r.options.tolerances)
	} else {
		differences = []compare.Difference{{Field: "answer", Legacy: statusOrError(replies[0], errs[0]), Candidate: statusOrError(replies[1], errs[1])}}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if request.step.As != contracttests.Guest {
		r.authenticated++
	}
	for i, s := range r.options.systems {
		if errs[i] == nil {
			r.unanswered[i] = 0
			if request.step.As != contracttests.Guest && replies[i].Status == http.StatusUnauthorized {
				r.unauthorized[i]++
			}
		} else if r.unanswered[i]++; r.unanswered[i] == maxUnanswered {
			cancel(fmt.Errorf("%s has stopped answering: %w", s.client.BaseURL(), errs[i]))
		}
	}
	r.result.add(number, r.newExample(request), request.call, r.redactAll(differences))
	r.done++
	r.bar.Show(r.done, len(r.requests), fmt.Sprintf("%d differ · %-30.30s", r.result.Different, request.target))
}

// newAnswer returns the parts of a reply that are compared.
func newAnswer(reply *contracttests.Reply) *compare.Answer {
	return &compare.Answer{
		Status: reply.Status, ContentType: reply.Header.Get("Content-Type"), Location: reply.Header.Get("Location"), Body: reply.Body,
	}
}

// statusOrError describes the outcome of a request: the status of its reply, or err.
func statusOrError(reply *contracttests.Reply, err error) *string {
	if err != nil {
		return new("none: " + err.Error())
	}
	return new(fmt.Sprint(reply.Status))
}

// newExample returns an example of r without a difference.
func (r *replay) newExample(request *comparedRequest) example {
	e := example{As: request.step.As, Request: r.redact(request.step.Method + " " + request.target), Curl: report.Pasteable(r.redact(r.options.systems[1].client.Curl(request.step)))}
	if request.step.Accept != nil {
		e.Accept = *request.step.Accept
	}
	return e
}

// redactAll removes secrets from differences, in place, and masks personal data unless
// showPersonal is set.
func (r *replay) redactAll(differences []compare.Difference) []compare.Difference {
	for i, difference := range differences {
		if !r.options.showPersonal {
			difference = difference.Masked()
		}
		for _, value := range []**string{&difference.Legacy, &difference.Candidate} {
			if *value != nil {
				*value = new(r.redact(**value))
			}
		}
		differences[i] = difference
	}
	return differences
}

// redact removes the secrets of both systems from text.
func (r *replay) redact(text string) string {
	for i := range r.options.systems {
		text = r.options.systems[i].credentials.Redact(text)
	}
	return text
}
