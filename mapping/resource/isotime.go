package resource

import (
	"strings"
	"time"
)

// isoTime returns a stored time, which is in UTC, in ISO 8601 format: as the local time of a zone,
// with the offset that the zone has at that moment (configurations 1.1). A nil zone means UTC, and so
// does a text that is no time.
func isoTime(stored string, zone *time.Location) string {
	if zone != nil && zone != time.UTC {
		if moment, err := time.Parse(time.DateTime, stored); err == nil {
			return moment.In(zone).Format("2006-01-02T15:04:05-07:00")
		}
	}
	return strings.Replace(stored, " ", "T", 1) + "+00:00"
}
