package cache

import (
	"bytes"
	"testing"
	"time"
)

// FuzzDecode checks that decode accepts only what encode produces: accepted bytes are
// encoded identically, and are rejected after changing any bit.
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
			// Any bytes can be a value.
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
				t.Errorf("accepted with bit %d changed", bit)
			}
		}
	})
}

// TestGenerations invalidates a tag, and a tag that shares its counter.
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
		{"all", []string{"a"}, allTag, false},
		{"all without tags", nil, allTag, false},
		{"a tag without tags", nil, "a", true},
		{"a tag named twice", []string{"a", "a", allTag}, "a", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for g.slot("a") == g.slot("c") || g.slot("b") == g.slot("c") {
				g = newGenerations() // another seed
			}
			w := g.snapshot(tt.watched)
			if !g.current(w) {
				t.Error("over before anything ended")
			}
			g.invalidate(tt.ended)
			if g.current(w) != tt.current {
				t.Errorf("current: %v, want %v", !tt.current, tt.current)
			}
		})
	}
}
