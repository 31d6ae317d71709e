package mapping

// SetBatchRows makes s read long lists in batches of n records.
func (s *Service) SetBatchRows(n int64) { s.limits.batch = n }
