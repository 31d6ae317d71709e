package migrate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
)

// maxUnanswered is the number of consecutive unanswered requests to one system that ends a
// comparison.
const maxUnanswered = 5

// A comparer asks two systems and collects how their answers differ. A replay of recorded requests
// and a sweep both embed it.
type comparer struct {
	options *compareOptions
	routes  *contract.Table
	bar     *report.Bar

	mu            sync.Mutex // guards the fields below
	result        *Report
	unanswered    [2]int // consecutive requests that a system did not answer
	authenticated [2]int // requests of callers with credentials that a system answered
	unauthorized  [2]int // how many of them with 401
}

// newComparer returns a comparer for the opened systems of o. It draws a progress bar on
// progress if that is a terminal.
func newComparer(o *compareOptions, progress io.Writer) *comparer {
	c := &comparer{
		options: o,
		routes:  o.routes,
		bar:     report.NewBar(progress),
		result:  newComparison(o.systems[0].client.BaseURL(), o.systems[1].client.BaseURL()),
	}
	c.result.expect(o.expected)
	return c
}

// ask sends the request of a step to one system. It calls cancel if the system has stopped
// answering.
func (c *comparer) ask(ctx context.Context, cancel context.CancelCauseFunc, system int, step *contracttests.Step) (*compare.Answer, error) {
	s := &c.options.systems[system]
	reply, err := s.client.Do(ctx, step)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if c.unanswered[system]++; c.unanswered[system] == maxUnanswered {
			cancel(fmt.Errorf("%s has stopped answering: %w", s.client.BaseURL(), err))
		}
		return nil, err
	}
	c.unanswered[system] = 0
	if step.As != contracttests.Guest {
		c.authenticated[system]++
		if reply.Status == http.StatusUnauthorized {
			c.unauthorized[system]++
		}
	}
	return &compare.Answer{
		Status: reply.Status, ContentType: reply.Header.Get("Content-Type"), Location: reply.Header.Get("Location"), Body: reply.Body,
	}, nil
}

// checkCredentials returns an error if only one of the systems rejected the credentials of all
// callers.
func (c *comparer) checkCredentials() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	rejects := func(i int) bool { return c.authenticated[i] > 0 && c.unauthorized[i] == c.authenticated[i] }
	for i := range c.options.systems {
		if s := &c.options.systems[i]; rejects(i) && !rejects(1-i) {
			return fmt.Errorf("%s answers 401 to every caller with credentials: give its own with --%s-credentials FILE", s.client.BaseURL(), s.name)
		}
	}
	return nil
}

// add records the answers to a request with its number in the plan. Expected differences are
// counted separately. The caller holds c.mu.
func (c *comparer) add(number int, request *comparedRequest, differences []compare.Difference) {
	resource := ""
	if request.route != nil {
		resource = request.route.Resource
	}
	unexpected, expected := c.divide(request.call, resource, request.record, differences)
	var base Example
	if len(unexpected) > 0 {
		base = c.newExample(request)
	}
	c.result.add(number, base, request.call, c.redactAll(unexpected), expected)
	if request.finds {
		c.result.addOneSided(resource, request.step.As, unexpected)
	}
}

// divide returns the differences that no expectation accepts, and the indexes of the
// expectations that accept others.
func (c *comparer) divide(call, resource, record string, differences []compare.Difference) (unexpected []compare.Difference, expected map[int]bool) {
	expected = map[int]bool{}
	total, specific := map[string]int{}, map[string]bool{}
	for i := range differences {
		d := &differences[i]
		total[d.Field]++
		index, ok := c.options.expected.Find(call, resource, record, d)
		if !ok {
			unexpected = append(unexpected, *d)
			continue
		}
		expected[index] = true
		if !c.options.expected.All()[index].IsGeneral() {
			specific[d.Field] = true
		}
	}
	// A field with this many differences may have more, which are missing here and were not
	// accepted.
	for field := range specific {
		if total[field] >= c.options.tolerances.MaxPerField() {
			many := new(fmt.Sprintf("%d differences or more", total[field]))
			unexpected = append(unexpected, compare.Difference{Field: field, Legacy: many, Candidate: many})
		}
	}
	return unexpected, expected
}

// recordOf returns the keys of the record that a request addresses, with slashes between them:
// first the keys of its owners, then its own key.
func (c *comparer) recordOf(address *contract.Address) string {
	if address.Route == nil {
		return ""
	}
	var keys []string
	for i, p := range c.routes.PathParams(address.Route) {
		if p.Owner {
			keys = append(keys, address.Params[i])
		}
	}
	return strings.Join(keys, "/")
}

// newExample returns an example of r without a difference.
func (c *comparer) newExample(request *comparedRequest) Example {
	e := Example{As: request.step.As, Request: c.redact(request.step.Method + " " + request.target), Curl: report.Pasteable(c.redact(c.options.systems[1].client.Curl(request.step)))}
	if request.step.Accept != nil {
		e.Accept = *request.step.Accept
	}
	return e
}

// redactAll removes secrets from differences, in place, and masks personal data unless
// showPersonal is set.
func (c *comparer) redactAll(differences []compare.Difference) []compare.Difference {
	for i, difference := range differences {
		if !c.options.showPersonal {
			difference = difference.Masked()
		}
		for _, value := range []**string{&difference.Legacy, &difference.Candidate} {
			if *value != nil {
				*value = new(c.redact(**value))
			}
		}
		differences[i] = difference
	}
	return differences
}

// redact removes the secrets of both systems from text.
func (c *comparer) redact(text string) string {
	for i := range c.options.systems {
		text = c.options.systems[i].credentials.Redact(text)
	}
	return text
}
