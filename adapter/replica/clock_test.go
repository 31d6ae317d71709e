package replica_test

import (
	"github.com/portico-commerce/portico/adapter"
	"testing"
	"time"
)

// TestScanAfterClockJump sets the clock of the process forward and back around a scan. The scans
// after it miss nothing that has changed at the backend, whose clock stays right.
func TestScanAfterClockJump(t *testing.T) {
	for _, tt := range []struct {
		name    string
		offsets []time.Duration // of the clock at each scan, before the change
		after   time.Duration   // and after it
	}{
		{"a day forward and back", []time.Duration{0, 24 * time.Hour}, 0},
		{"an hour forward from the start, and back", []time.Duration{time.Hour}, 0},
		{"an hour back", []time.Duration{0, 0}, -time.Hour},
		{"a day forward", []time.Duration{0, 0}, 24 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			for _, offset := range tt.offsets {
				f.SetNow(func() time.Time { return time.Now().Add(offset) })
				f.scan()
			}
			f.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("Moved")) })
			f.SetNow(func() time.Time { return time.Now().Add(tt.after) })
			f.scan()
			if found := f.keys(adapter.Products, where("name", "Moved")); len(found) != 1 {
				t.Errorf("found %v", found)
			}
		})
	}
}

// TestIntentAfterClockWentBack resolves the write intent of a process that was killed before the
// clock was set back. While clocks differ a little, such an intent is left to its writer.
func TestIntentAfterClockWentBack(t *testing.T) {
	for offset, resolved := range map[time.Duration]bool{0: false, -10 * time.Second: false, -time.Hour: true, -24 * time.Hour: true, 24 * time.Hour: true} {
		t.Run(offset.String(), func(t *testing.T) {
			f := newFixture(t)
			m, _ := f.mapping(adapter.Products, 1)
			m.Intent = []byte(`{"by":"killed","op":"update","resource":"products","key":1}`)
			if err := f.local.PutMappings(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			f.SetNow(func() time.Time { return time.Now().Add(offset) })
			f.SetForeignIntentAge(time.Minute)
			f.SetForeignWriteWait(0)
			f.scan()
			if m, _ = f.mapping(adapter.Products, 1); (m.Intent == nil) != resolved {
				t.Errorf("the intent is %q", m.Intent)
			}
		})
	}
}
