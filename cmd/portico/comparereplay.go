package main

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

// silent is how many requests in a row without an answer end a comparison.
const silent = 5

// A question is a request that both sides are asked.
type question struct {
	step   *contracttests.Step
	target string // of the request line
	call   string // its name
	route  *contract.Route
}

// A replay asks both sides all questions.
type replay struct {
	options   *compareOptions
	routes    *contract.Table
	questions []question
	bar       *report.Bar

	mu       sync.Mutex // held around what follows
	found    *comparison
	done     int
	unheard  [2]int // requests in a row that a side did not answer
	signed   int    // questions of callers with credentials
	rejected [2]int // how many of them a side answered with 401
}

func newReplay(o *compareOptions, progress io.Writer) *replay {
	return &replay{
		options: o,
		routes:  contract.NewTable(contract.Routes(contract.StandardFields())),
		bar:     report.NewBar(progress),
		found:   newComparison(o.sides[0].asker.BaseURL(), o.sides[1].asker.BaseURL()),
	}
}

// plan finds the questions among the steps of exchanges, and counts the rest.
func (r *replay) plan(exchanges []contracttests.Exchange) {
	for i := range exchanges {
		for j := range exchanges[i].Steps {
			s := unconditional(&exchanges[i].Steps[j])
			q := question{step: s, target: requestTarget(s)}
			path, _, _ := strings.Cut(q.target, "?")
			address, inside := r.routes.Address(s.Method, path)
			reason := ""
			switch {
			case s.Method != http.MethodGet:
				reason = "only GETs are asked again, not " + s.Method
			case overrides(s):
				reason = "a header makes it another method than GET"
			case !inside:
				reason = "it is not for " + contract.Base
			case isSigned(s):
				reason = "it has a signature of its own, which holds once"
			default:
				for k := range r.options.sides {
					if side := &r.options.sides[k]; reason == "" && !side.known.Has(s.As) {
						reason = fmt.Sprintf("the credentials of the %s side name no %s", side.name, s.As)
					}
				}
			}
			if reason != "" {
				r.found.leaveOut(reason, r.redact(s.Method+" "+q.target))
				continue
			}
			q.call, q.route = address.Name(), address.Route
			r.questions = append(r.questions, q)
		}
	}
}

// unconditional returns a step without headers that tell what its client has already,
// or how it unpacks: it is the whole answer that is compared.
func unconditional(s *contracttests.Step) *contracttests.Step {
	whole := *s
	whole.Headers = maps.Clone(s.Headers)
	maps.DeleteFunc(whole.Headers, func(name, _ string) bool {
		return slices.Contains([]string{"accept-encoding", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range"}, strings.ToLower(name))
	})
	return &whole
}

// overrides reports whether a step brings a header along by which servers take a GET
// for a write.
func overrides(s *contracttests.Step) bool {
	for name := range s.Headers {
		switch strings.ToLower(name) {
		case "x-http-method-override", "x-http-method", "x-method-override":
			return true
		}
	}
	return false
}

// isSigned reports whether a step brings a signature with a nonce along, in place of
// being signed for each side.
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

// requestTarget returns what a step asks for, without scheme and host.
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

// run asks all questions. It fails when ctx ends, and when a side turns out not to
// be there, or not to know its callers.
func (r *replay) run(ctx context.Context) (*comparison, error) {
	defer r.bar.Clear()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group errgroup.Group
	group.SetLimit(r.options.parallel)
	for i := range r.questions {
		group.Go(func() error {
			if ctx.Err() == nil {
				r.ask(ctx, cancel, i)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return nil
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i := range r.options.sides {
		if s := &r.options.sides[i]; r.signed > 0 && r.rejected[i] == r.signed && r.rejected[1-i] < r.signed {
			return nil, fmt.Errorf("%s answers 401 to every caller with credentials: give its own with --%s-credentials FILE", s.asker.BaseURL(), s.name)
		}
	}
	r.found.end()
	return r.found, nil
}

// ask asks both sides a question at the same time and notes what differs; cancel ends
// the comparison.
func (r *replay) ask(ctx context.Context, cancel context.CancelCauseFunc, number int) {
	q := &r.questions[number]
	var replies [2]*contracttests.Reply
	var errs [2]error
	var both sync.WaitGroup
	for i := range r.options.sides {
		both.Go(func() { replies[i], errs[i] = r.options.sides[i].asker.Do(ctx, q.step) })
	}
	both.Wait()
	if ctx.Err() != nil {
		return
	}
	var differences []compare.Difference
	if errs[0] == nil && errs[1] == nil {
		differences = compare.Answers(q.route, answerOf(replies[0]), answerOf(replies[1]), &r.options.tolerances)
	} else {
		differences = []compare.Difference{{Field: "answer", Legacy: heard(replies[0], errs[0]), Candidate: heard(replies[1], errs[1])}}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.step.As != contracttests.Guest {
		r.signed++
	}
	for i, s := range r.options.sides {
		if errs[i] == nil {
			r.unheard[i] = 0
			if q.step.As != contracttests.Guest && replies[i].Status == http.StatusUnauthorized {
				r.rejected[i]++
			}
		} else if r.unheard[i]++; r.unheard[i] == silent {
			cancel(fmt.Errorf("%s has stopped answering: %w", s.asker.BaseURL(), errs[i]))
		}
	}
	r.found.add(number, r.exampleOf(q), q.call, r.shown(differences))
	r.done++
	r.bar.Show(r.done, len(r.questions), fmt.Sprintf("%d differ · %-30.30s", r.found.Different, q.target))
}

// answerOf returns a reply as far as the sides have to agree in it.
func answerOf(reply *contracttests.Reply) *compare.Answer {
	return &compare.Answer{
		Status: reply.Status, ContentType: reply.Header.Get("Content-Type"), Location: reply.Header.Get("Location"), Body: reply.Body,
	}
}

// heard tells what came of a request.
func heard(reply *contracttests.Reply, err error) *string {
	if err != nil {
		return new("none: " + err.Error())
	}
	return new(fmt.Sprint(reply.Status))
}

// exampleOf returns an example without its values.
func (r *replay) exampleOf(q *question) example {
	e := example{As: q.step.As, Request: r.redact(q.step.Method + " " + q.target), Curl: report.Pasteable(r.redact(r.options.sides[1].asker.Curl(q.step)))}
	if q.step.Accept != nil {
		e.Accept = *q.step.Accept
	}
	return e
}

// shown returns differences without secrets, and without what tells of persons
// unless it is asked for.
func (r *replay) shown(differences []compare.Difference) []compare.Difference {
	for i, d := range differences {
		if !r.options.showPersonal {
			d = d.Masked()
		}
		for _, value := range []**string{&d.Legacy, &d.Candidate} {
			if *value != nil {
				*value = new(r.redact(**value))
			}
		}
		differences[i] = d
	}
	return differences
}

func (r *replay) redact(text string) string {
	for i := range r.options.sides {
		text = r.options.sides[i].known.Redact(text)
	}
	return text
}
