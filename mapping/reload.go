package mapping

import "github.com/portico-commerce/portico/mapping/ratelimit"

// WithSettings returns a service that answers as s does, but under other settings, of which
// it takes over BodyBytes, MaxRows, GuestMaxRows, FilterTimeout, MatchBytes, ConsumerRate,
// ConsumerBurst and Fingerprint. All other settings remain those of s, because they size
// what the two services share: budgets, caches and the backend. What a consumer has used of
// its rate is forgotten if the rate or the burst changes. s remains usable, so that calls in
// progress end under its settings.
func (s *Service) WithSettings(settings Settings) (*Service, error) {
	next := *s
	to := &next.settings
	to.BodyBytes, to.MaxRows, to.GuestMaxRows = settings.BodyBytes, settings.MaxRows, settings.GuestMaxRows
	to.FilterTimeout, to.MatchBytes = settings.FilterTimeout, settings.MatchBytes
	to.ConsumerRate, to.ConsumerBurst = settings.ConsumerRate, settings.ConsumerBurst
	to.Fingerprint = settings.Fingerprint
	next.limits.total = to.MaxRows
	next.replyCache = newGuestReplyCache(s.dialect, to)
	next.setFilterLimits()
	if s.settings.ConsumerRate == to.ConsumerRate && s.settings.ConsumerBurst == to.ConsumerBurst {
		return &next, nil
	}
	var err error
	next.rates, err = ratelimit.New[int64](to.ConsumerRate, to.ConsumerBurst, to.Now)
	return &next, err
}

// setFilterLimits sets the limits of lists with expensive conditions from the settings.
func (s *Service) setFilterLimits() {
	s.callerFilters, s.guestFilters = newFilterLimits(&s.settings, false), newFilterLimits(&s.settings, true)
}
