package cache

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

// FuzzDecode checks that decode accepts only what encode produces for the same key: accepted bytes
// are a reply, and are rejected after changing any bit, under another key, in another epoch of the
// store, and without the secret.
func FuzzDecode(f *testing.F) {
	epoch := func(secret, name string) *storeEpoch {
		e, err := newStoreEpoch(secret, name)
		if err != nil {
			f.Fatal(err)
		}
		return e
	}
	id := epoch("secret", "epoch").entry([32]byte{1})
	others := map[string]entryID{
		"another key":    epoch("secret", "epoch").entry([32]byte{2}),
		"another epoch":  epoch("secret", "another").entry([32]byte{1}),
		"another secret": epoch("other", "epoch").entry([32]byte{1}),
		"no secret":      epoch("", "epoch").entry([32]byte{1}),
		// An entry forged by somebody who knows the id but not the secret.
		"forged": {epoch("", "epoch"), id.sum},
	}
	r := &reply{value: []byte("value"), made: time.Unix(1700000000, 1), ttl: time.Minute, digest: digest{1, 2, 3}}
	f.Add(r.encode(id))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{entryVersion}, entryHeader))
	empty := &reply{made: time.Unix(0, 0), ttl: 1}
	f.Add(empty.encode(id))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := decode(b, id)
		if !ok {
			// Any bytes can be a value.
			r = &reply{value: b, made: time.Unix(0, int64(len(b))), ttl: time.Hour}
			b = r.encode(id)
			if r, ok = decode(b, id); !ok {
				t.Fatal("what was encoded cannot be decoded")
			}
		}
		if r.ttl <= 0 || len(r.value) != len(b)-entryHeader {
			t.Errorf("decoded %+v", r)
		}
		if again, ok := decode(r.encode(id), id); !ok || !reflect.DeepEqual(again, r) {
			t.Errorf("encoded again: %+v, was %+v", again, r)
		}
		for name, other := range others {
			if _, ok := decode(b, other); ok {
				t.Errorf("accepted for %s", name)
			}
			if _, ok := decode(r.encode(other), id); ok {
				t.Errorf("accepted from %s", name)
			}
		}
		for _, bit := range []int{0, 8, 8 * (1 + checksumSize), 8 * (entryHeader - 1), 8*len(b) - 1} {
			spoiled := bytes.Clone(b)
			spoiled[bit/8] ^= 1 << (bit % 8)
			if _, ok := decode(spoiled, id); ok {
				t.Errorf("accepted with bit %d changed", bit)
			}
		}
	})
}

// TestLifetime checks how long a reply from Redis is returned, also after the clock was set.
func TestLifetime(t *testing.T) {
	made := time.Unix(1700000000, 0)
	r := &reply{made: made, ttl: time.Minute}
	for offset, want := range map[time.Duration][2]bool{ // fresh, usable
		0:                       {true, true},
		59 * time.Second:        {true, true},
		time.Minute:             {false, true},
		time.Hour:               {false, false},
		24 * time.Hour:          {false, false},
		-30 * time.Second:       {true, true}, // clocks of replicas differ
		-2 * time.Minute:        {false, false},
		-time.Hour:              {false, false},
		-24 * time.Hour:         {false, false},
		-100 * 24 * time.Hour:   {false, false},
		time.Hour + time.Second: {false, false},
	} {
		now := made.Add(offset)
		if got := [2]bool{r.fresh(now), r.usable(now, 10*time.Minute)}; got != want {
			t.Errorf("read after %s: fresh, usable %v, want %v", offset, got, want)
		}
	}
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
