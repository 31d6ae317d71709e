package contracttests

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// noteMade keeps the path of what a POST made, whatever else is wrong with the
// answer. Its error says that the Location names what this call has not made: nothing
// of the store's own is ever changed or deleted because a server said so.
func (p *caseRun) noteMade(ctx context.Context, s *Step, got *reply) error {
	location := got.header.Get("Location")
	if u, err := url.Parse(location); err == nil {
		location = p.run.server.below(u.Path)
	}
	path, ok := strings.CutPrefix(location, apiPath)
	whole := path[:strings.LastIndexByte(path, '/')+1]
	if s.Method != http.MethodPost || !ok || !isDigits(path[len(whole):]) ||
		// All else goes with the product it is part of, or cannot be deleted.
		!slices.Contains([]string{"/customers/", "/products/", "/customers/addresses/"}, whole) {
		return nil
	}
	if err := p.isOwn(ctx, path, s); err != nil {
		p.run.leave("what " + s.Method + " /api/rest" + s.Path + " made: " + err.Error())
		return err
	}
	p.made = append(p.made, path)
	return nil
}

// isOwn returns an error unless what stands at a path bears the marks of what the
// case sent.
func (p *caseRun) isOwn(ctx context.Context, path string, sent *Step) error {
	log := p.result.Calls
	defer func() { p.result.Calls = log }()
	accept := "application/json"
	_, got, err := p.send(ctx, &Step{As: Admin, Method: http.MethodGet, Path: path, Accept: &accept})
	if err != nil {
		return fmt.Errorf("the Location names %s, which does not answer: %w", path, err)
	}
	var fields map[string]any
	if got.status != http.StatusOK || json.Unmarshal([]byte(got.body), &fields) != nil {
		return fmt.Errorf("the Location names %s, which cannot be read: %d %s", path, got.status, cut(got.body))
	}
	field := func(name string) string {
		value, _ := fields[name].(string)
		return value
	}
	var own bool
	switch {
	case strings.HasPrefix(path, "/products/"):
		own = p.isNamed(field("sku"))
	case strings.HasPrefix(path, "/customers/addresses/"): // it bears no name, but the texts that were sent
		own = sent.sends(field("firstname")) && sent.sends(field("city"))
	default:
		own = p.isNamed(field("email"))
	}
	if !own {
		return fmt.Errorf("the Location names %s, which this call has not made", path)
	}
	return nil
}

// sends reports whether the body has a text, as any of the formats writes it.
func (s *Step) sends(value string) bool {
	if s.Body == nil {
		return false
	}
	var inJSON, inXML strings.Builder
	jsonString(&inJSON, value)
	xmlText(&inXML, value)
	return slices.ContainsFunc([]string{value, strings.Trim(inJSON.String(), `"`), inXML.String(), formEscape(value)}, func(written string) bool {
		return strings.Contains(*s.Body, written)
	})
}

// isNamed reports whether a text begins with the name of the case's own things.
func (p *caseRun) isNamed(s string) bool {
	unique := p.names["unique"].text
	return len(s) >= len(unique) && strings.EqualFold(s[:len(unique)], unique) && !isDigits(s[len(unique):min(len(s), len(unique)+1)])
}

// leave notes what is left behind.
func (r *run) leave(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leftovers = append(r.leftovers, what)
}

// cleanUp makes the calls that end the case whatever happened, and deletes what it
// made, last first.
func (p *caseRun) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	log := p.result.Calls
	defer func() { p.result.Calls = log }()
	for i := range p.job.c.Finally {
		if s, err := p.step(&p.job.c.Finally[i]); err == nil {
			_, _, _ = p.send(ctx, s) // the case has been judged
		}
	}
	// A default address goes with its customer alone: what is refused is tried again
	// when the rest is gone.
	left := p.delete(ctx, p.delete(ctx, p.made))
	for _, path := range left {
		p.run.leave("DELETE /api/rest" + path)
	}
}

// delete deletes paths, last first, and returns those that may still be there.
func (p *caseRun) delete(ctx context.Context, paths []string) []string {
	var left []string
	accept := "application/json"
	for _, path := range slices.Backward(paths) {
		_, got, err := p.send(ctx, &Step{As: Admin, Method: http.MethodDelete, Path: path, Accept: &accept})
		if err != nil || got.status != http.StatusOK && got.status != http.StatusNotFound {
			left = append([]string{path}, left...)
		}
	}
	return left
}

// sweep deletes what the run made and no case knows of: made by a call that was cut
// off, or whose answer did not say so. It asks for what bears the run's name.
func (r *run) sweep(ctx context.Context) {
	if !r.wrote {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	p := newCaseRun(r, job{c: &Case{}, format: "json"}, &Result{})
	for path, named := range map[string]string{"/customers": "email", "/products": "sku"} {
		filter := url.Values{
			"filter[1][attribute]": {named}, "filter[1][like]": {r.id + "%"},
			"limit": {"100"}, "order": {"entity_id"}, "dir": {"dsc"},
		}
		accept := "application/json"
		_, got, err := p.send(ctx, &Step{As: Admin, Method: http.MethodGet, Path: path + "?" + filter.Encode(), Accept: &accept})
		if err != nil || got.status != http.StatusOK {
			continue
		}
		var found map[string]map[string]any
		if json.Unmarshal([]byte(got.body), &found) != nil {
			continue // an empty list is an array
		}
		var paths []string
		for id, fields := range found {
			// A store that ignores filters shows others' records as well.
			if name, _ := fields[named].(string); strings.HasPrefix(name, r.id) && isDigits(id) {
				paths = append(paths, path+"/"+id)
			}
		}
		for _, left := range p.delete(ctx, paths) {
			r.leave("DELETE /api/rest" + left)
		}
	}
}
