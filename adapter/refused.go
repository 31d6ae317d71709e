package adapter

// An Observer sees a write inside its transaction, before anything is written: the locked
// current record, which has no schema if the write creates one, and the requested values,
// which have no schema if the write deletes the record. It must not modify either. If it
// returns an error, nothing is written. It is called again if the write runs again after a
// conflict.
//
// A layer above a store appends an Observer to a copy of the parameters, so that it need not
// wrap the caller's function.
type Observer func(current, change Record) error

// A RefusedError is the error of a write that a function of its caller has refused: Change,
// Check, Last or an [Observer]. Nothing was written, and the error says nothing about the
// backend.
type RefusedError struct {
	// Err is the error of the function.
	Err error
}

// Error returns the text of the function's error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the function's error.
func (e *RefusedError) Unwrap() error { return e.Err }

// refused marks an error of a caller's function.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return &RefusedError{err}
}

// observe calls observers until one fails.
func observe(observers []Observer, current, change Record) error {
	for _, see := range observers {
		if err := see(current, change); err != nil {
			return refused(err)
		}
	}
	return nil
}

// RunCheck runs Check, if set, then the observers. A store calls it inside the transaction,
// before it writes anything, and returns its error, which is a [*RefusedError], unchanged.
func (p *CreateParams) RunCheck() error {
	if p.Check != nil {
		if err := p.Check(); err != nil {
			return refused(err)
		}
	}
	return observe(p.Locked, Record{}, p.Record)
}

// RunChange runs Change on a copy of the locked current record, then the observers, and
// returns the new values. A store returns its error, which is a [*RefusedError], unchanged.
func (p *UpdateParams) RunChange(current Record) (Record, error) {
	change, err := p.Change(current.Clone())
	if err != nil {
		return Record{}, refused(err)
	}
	return change, observe(p.Locked, current, change)
}

// RunCheck runs Check, if set, on a copy of the locked current record, then the observers. A
// store returns its error, which is a [*RefusedError], unchanged.
func (p *DeleteParams) RunCheck(current Record) error {
	if p.Check != nil {
		if err := p.Check(current.Clone()); err != nil {
			return refused(err)
		}
	}
	return observe(p.Locked, current, Record{})
}

// RunLast runs Last, if set. A store returns its error, which is a [*RefusedError],
// unchanged.
func (p *DeleteParams) RunLast() error {
	if p.Last == nil {
		return nil
	}
	return refused(p.Last())
}
