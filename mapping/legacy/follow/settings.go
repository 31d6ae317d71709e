package follow

import (
	"context"
	"github.com/portico-commerce/portico/adapter/importer"
	"maps"
	"slices"
)

// compareSettings logs the settings that have changed in the legacy store: the follower does not
// change Portico's settings.
func (s *session) compareSettings(ctx context.Context) error {
	found, err := s.Legacy.Settings(ctx)
	if err != nil {
		return err
	}
	now := map[string]string{}
	for _, one := range found {
		switch {
		case one.Name == "":
		case one.Attribute != nil || one.Fields != nil: // one of several entries of a table
			now[one.Name+" from "+one.From] = one.Value
		default:
			now[one.Name] = one.Value
		}
	}
	before := s.f.settings
	if s.f.settings = now; before == nil {
		for _, one := range importer.MissingSettings(s.Options.Lists, s.Options.From.Schemas, found) {
			s.log.Warn("the legacy store uses what the configuration lacks: see portico import attributes", "setting", one.Setting, "lacking", one.Lacking)
		}
		return nil
	}
	both := maps.Clone(before)
	maps.Copy(both, now)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if was, is := before[name], now[name]; was != is {
			s.f.o.Metrics.settings.Inc()
			s.log.Warn("the legacy store has changed a setting: change the configuration likewise and restart or reload Portico", "line", name+": "+is, "was", was)
		}
	}
	return nil
}
