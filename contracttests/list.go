package contracttests

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
