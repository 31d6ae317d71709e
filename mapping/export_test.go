package mapping

// SetBatchRows makes s read long lists in batches of n records.
func (s *Service) SetBatchRows(n int64) {
	s.settings.BatchRows = n
	next, err := s.With(s.fields, s.settings)
	if err != nil {
		panic(err)
	}
	*s = *next
}
