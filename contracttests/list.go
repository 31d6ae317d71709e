package contracttests

// Cases returns the cases of a dialect, of both for "", each in each of its formats:
// as results of nothing that was run, in the order of the files.
func (s *Suite) Cases(d Dialect) []Result {
	var all []Result
	for i := range s.cases {
		c := &s.cases[i]
		if d != "" && c.Dialect != "" && c.Dialect != d {
			continue
		}
		for _, format := range c.Formats {
			all = append(all, *job{c: c, format: format}.result())
		}
	}
	return all
}
