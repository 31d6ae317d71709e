package cache

import (
	"bytes"
	"testing"
	"time"
)

// FuzzDecode reads any bytes as an entry. What is read is what was written, and
// changing a bit of it makes it unreadable.
func FuzzDecode(f *testing.F) {
	r := &reply{value: []byte("value"), made: time.Unix(1700000000, 1), ttl: time.Minute, digest: digest{1, 2, 3}}
	f.Add(r.encode())
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{entryVersion}, entryHeader))
	empty := &reply{made: time.Unix(0, 0), ttl: 1}
	f.Add(empty.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := decode(b)
		if !ok {
			// Whatever it is, as a value it comes back.
			r = &reply{value: b, made: time.Unix(0, int64(len(b))), ttl: time.Hour}
			b = r.encode()
			if r, ok = decode(b); !ok {
				t.Fatal("what was encoded cannot be decoded")
			}
		}
		if r.ttl <= 0 || len(r.value) != len(b)-entryHeader {
			t.Errorf("decoded %+v", r)
		}
		if again := r.encode(); !bytes.Equal(again, b) {
			t.Errorf("encoded again: %x, was %x", again, b)
		}
		for _, bit := range []int{0, 8, 8 * 5, 8*len(b) - 1} {
			spoiled := bytes.Clone(b)
			spoiled[bit/8] ^= 1 << (bit % 8)
			if _, ok := decode(spoiled); ok {
				t.Errorf("bit %d does not matter", bit)
			}
		}
	})
}

// TestGenerations ends what depends on a tag, and what else falls on its slot.
func TestGenerations(t *testing.T) {
	g := newGenerations()
	for _, tt := range []struct {
		name    string
		watched []string
		ended   string
		current bool
	}{
		{"its tag", []string{"a", "b"}, "b", false},
		{"another tag", []string{"a", "b"}, "c", true},
		{"all", []string{"a"}, all, false},
		{"all without tags", nil, all, false},
		{"a tag without tags", nil, "a", true},
		{"a tag named twice", []string{"a", "a", all}, "a", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for g.slot("a") == g.slot("c") || g.slot("b") == g.slot("c") {
				g = newGenerations() // another seed
			}
			w := g.watch(tt.watched)
			if !g.current(w) {
				t.Error("over before anything ended")
			}
			g.end(tt.ended)
			if g.current(w) != tt.current {
				t.Errorf("current: %v, want %v", !tt.current, tt.current)
			}
		})
	}
}
