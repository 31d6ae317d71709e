package resource

import (
	"testing"
	"time"
)

// TestISOTime checks how replies show the time of creation in the shop's time zone (configurations
// 1.1).
func TestISOTime(t *testing.T) {
	for _, tt := range []struct{ name, zone, stored, want string }{
		{"no zone", "", "2012-01-01 00:00:00", "2012-01-01T00:00:00+00:00"},
		{"UTC", "UTC", "2012-01-01 00:00:00", "2012-01-01T00:00:00+00:00"},
		{"UTC by another name", "Etc/UTC", "2012-01-01 00:00:00", "2012-01-01T00:00:00+00:00"},
		{"east", "Europe/Berlin", "2012-01-01 00:00:00", "2012-01-01T01:00:00+01:00"},
		{"west, the day before", "America/Los_Angeles", "2012-01-01 00:00:00", "2011-12-31T16:00:00-08:00"},
		{"minutes", "Asia/Kolkata", "2012-01-01 00:00:00", "2012-01-01T05:30:00+05:30"},
		{"quarters of an hour", "Asia/Kathmandu", "2012-01-01 00:00:00", "2012-01-01T05:45:00+05:45"},
		{"summer time", "Europe/Berlin", "2013-06-23 14:32:07", "2013-06-23T16:32:07+02:00"},
		{"the last second of summer time", "Europe/Berlin", "2013-10-27 00:59:59", "2013-10-27T02:59:59+02:00"},
		{"the first second of winter time", "Europe/Berlin", "2013-10-27 01:00:00", "2013-10-27T02:00:00+01:00"},
		{"no time", "Europe/Berlin", "0000-00-00 00:00:00", "0000-00-00T00:00:00+00:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var zone *time.Location
			if tt.zone != "" {
				var err error
				if zone, err = time.LoadLocation(tt.zone); err != nil {
					t.Fatal(err)
				}
			}
			if got := isoTime(tt.stored, zone); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
