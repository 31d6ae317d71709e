package contracttests

import "strings"

// Cases returns one result for each case and format in the order of the files, as if
// nothing had been run: without status, calls or failure. It returns the cases that apply
// to dialect d, or all cases if d is empty.
func (s *Suite) Cases(d Dialect) []Result {
	var all []Result
	for i := range s.cases {
		c := &s.cases[i]
		if d != "" && c.Dialect != "" && c.Dialect != d {
			continue
		}
		for _, format := range c.Formats {
			all = append(all, *job{c: c, format: format}.newResult())
		}
	}
	return all
}

// CaseCalls are the requests of one case.
type CaseCalls struct {
	Resource, Name string
	// Paths are the paths of the requests below /api/rest, without the query, with
	// variables such as {{customer}} in place of ids. Requests that create the
	// prerequisites of the case come first.
	Paths []string
}

// CaseCalls returns the requests of every case in the order of the files.
func (s *Suite) CaseCalls() []CaseCalls {
	all := make([]CaseCalls, len(s.cases))
	for i := range s.cases {
		c := &s.cases[i]
		all[i] = CaseCalls{Resource: c.Resource, Name: c.Name}
		for _, call := range s.allCalls(c) {
			_, target, _ := strings.Cut(call.Call, " ")
			path, _, _ := strings.Cut(target, "?")
			all[i].Paths = append(all[i].Paths, path)
		}
	}
	return all
}

// allCalls returns the steps of a case, preceded by the requests that create its
// prerequisites.
func (s *Suite) allCalls(c *Case) []*Call {
	var all []*Call
	makings, _ := s.prerequisites(c)
	for _, m := range makings {
		all = append(all, &Call{Call: s.makers[m.maker].Call, Send: &m.send})
	}
	for i := range c.Steps {
		all = append(all, &c.Steps[i])
	}
	return all
}
