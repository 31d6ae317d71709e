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

// trackCreated records the path of the object that a POST created, so that it is deleted
// when the case ends. It returns an error if the Location names an object that this
// request did not create: the suite must not delete existing objects of the store because
// of a wrong reply.
func (p *caseRun) trackCreated(ctx context.Context, s *Step, got *reply) error {
	location := got.header.Get("Location")
	if u, err := url.Parse(location); err == nil {
		location = p.run.server.withoutBasePath(u.Path)
	}
	path, ok := strings.CutPrefix(location, apiPath)
	whole := path[:strings.LastIndexByte(path, '/')+1]
	if s.Method != http.MethodPost || !ok || !isDigits(path[len(whole):]) ||
		// Other objects are deleted together with their product, or cannot be deleted.
		!slices.Contains([]string{"/customers/", "/products/", "/customers/addresses/"}, whole) {
		return nil
	}
	if err := p.verifyCreated(ctx, path, s); err != nil {
		p.run.addLeftover("the object that " + s.Method + " /api/rest" + s.Path + " created: " + err.Error())
		return err
	}
	p.created = append(p.created, path)
	return nil
}

// verifyCreated returns an error unless the object at path has the unique name, or for an
// address the texts, that the case sent.
func (p *caseRun) verifyCreated(ctx context.Context, path string, sent *Step) error {
	calls := p.result.Calls
	defer func() { p.result.Calls = calls }()
	accept := "application/json"
	_, got, err := p.send(ctx, &Step{As: Admin, Method: http.MethodGet, Path: path, Accept: &accept})
	if err != nil {
		return fmt.Errorf("the Location names %s, which cannot be read: %w", path, err)
	}
	var fields map[string]any
	if got.status != http.StatusOK || json.Unmarshal([]byte(got.body), &fields) != nil {
		return fmt.Errorf("the Location names %s, which cannot be read: %d %s", path, got.status, truncate(got.body))
	}
	field := func(name string) string {
		value, _ := fields[name].(string)
		return value
	}
	var created bool
	switch {
	case strings.HasPrefix(path, "/products/"):
		created = p.hasUniqueName(field("sku"))
	case strings.HasPrefix(path, "/customers/addresses/"): // an address has no unique name
		created = sent.bodyContains(field("firstname")) && sent.bodyContains(field("city"))
	default:
		created = p.hasUniqueName(field("email"))
	}
	if !created {
		return fmt.Errorf("the Location names %s, which this request has not created", path)
	}
	return nil
}

// bodyContains reports whether the body contains a text in the notation of any format.
func (s *Step) bodyContains(value string) bool {
	if s.Body == nil {
		return false
	}
	var inJSON, inXML strings.Builder
	writeJSONString(&inJSON, value)
	writeXMLText(&inXML, value)
	return slices.ContainsFunc([]string{value, strings.Trim(inJSON.String(), `"`), inXML.String(), escapeForm(value)}, func(written string) bool {
		return strings.Contains(*s.Body, written)
	})
}

// hasUniqueName reports whether s begins with the value of {{unique}}. A following digit
// would make it the value of another case.
func (p *caseRun) hasUniqueName(s string) bool {
	unique := p.bindings["unique"].text
	return len(s) >= len(unique) && strings.EqualFold(s[:len(unique)], unique) && !isDigits(s[len(unique):min(len(s), len(unique)+1)])
}

// addLeftover reports an object that could not be deleted.
func (r *run) addLeftover(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leftovers = append(r.leftovers, what)
}

// cleanUp runs the final steps of the case and deletes the objects that the case created,
// in reverse order. Objects that cannot be deleted become leftovers.
func (p *caseRun) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	calls := p.result.Calls
	defer func() { p.result.Calls = calls }()
	for i := range p.job.c.Finally {
		if s, err := p.newStep(&p.job.c.Finally[i]); err == nil {
			_, _, _ = p.send(ctx, s) // the outcome of the case is known already
		}
	}
	// A default address can only be deleted with its customer. So failed deletions are
	// repeated after the rest.
	remaining := p.deletePaths(ctx, p.deletePaths(ctx, p.created))
	for _, path := range remaining {
		p.run.addLeftover("DELETE /api/rest" + path)
	}
}

// deletePaths deletes the objects at paths in reverse order. It returns the paths of
// objects that may still exist, in their original order.
func (p *caseRun) deletePaths(ctx context.Context, paths []string) []string {
	var remaining []string
	accept := "application/json"
	for _, path := range slices.Backward(paths) {
		_, got, err := p.send(ctx, &Step{As: Admin, Method: http.MethodDelete, Path: path, Accept: &accept})
		if err != nil || got.status != http.StatusOK && got.status != http.StatusNotFound {
			remaining = append([]string{path}, remaining...)
		}
	}
	return remaining
}

// deleteLeftovers deletes objects of this run that no case has tracked, because the
// request was interrupted or the reply had no usable Location. It searches for customers
// and products whose name begins with the id of the run.
func (r *run) deleteLeftovers(ctx context.Context) {
	if !r.wrote {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	p := newCaseRun(r, job{c: &Case{}, format: "json"}, &Result{})
	for path, nameField := range map[string]string{"/customers": "email", "/products": "sku"} {
		filter := url.Values{
			"filter[1][attribute]": {nameField}, "filter[1][like]": {r.id + "%"},
			"limit": {"100"}, "order": {"entity_id"}, "dir": {"dsc"},
		}
		accept := "application/json"
		_, got, err := p.send(ctx, &Step{As: Admin, Method: http.MethodGet, Path: path + "?" + filter.Encode(), Accept: &accept})
		if err != nil || got.status != http.StatusOK {
			continue
		}
		var found map[string]map[string]any
		if json.Unmarshal([]byte(got.body), &found) != nil {
			continue // an empty list is encoded as an array
		}
		var paths []string
		for id, fields := range found {
			// A store that ignores filters also returns other records.
			if name, _ := fields[nameField].(string); strings.HasPrefix(name, r.id) && isDigits(id) {
				paths = append(paths, path+"/"+id)
			}
		}
		for _, remaining := range p.deletePaths(ctx, paths) {
			r.addLeftover("DELETE /api/rest" + remaining)
		}
	}
}
