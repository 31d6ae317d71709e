//go:build linux

package media_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestMarker marks a bucket and a prefix of it, and finds out whether they hold images.
func TestMarker(t *testing.T) {
	testenv.OnlyNightly(t, "media")
	server := sqltest.StartBucketServer(t)
	for _, prefix := range []string{"shop/", "other/"} {
		store := server.Open(t, func(o *media.BucketOptions) { o.Prefix = prefix })
		one, other := media.Marker{Identity: "ONE", Place: "here " + prefix}, media.Marker{Identity: "OTHER"}
		expect := func(want media.Marker, empty bool) {
			t.Helper()
			if has, err := store.Marker(t.Context()); has != want || err != nil {
				t.Errorf("%s: the marker is %v, %v, want %v", store, has, err, want)
			}
			if is, err := store.Empty(t.Context()); is != empty || err != nil {
				t.Errorf("%s: empty is %t, %v, want %t", store, is, err, empty)
			}
		}
		expect(media.Marker{}, true)
		if err := store.SetMarker(t.Context(), one, false); err != nil {
			t.Fatal(err)
		}
		expect(one, true)
		if err := store.SetMarker(t.Context(), other, false); !errors.Is(err, media.ErrMarked) {
			t.Errorf("a second marker: %v", err)
		}
		expect(one, true)
		if err := store.SetMarker(t.Context(), other, true); err != nil {
			t.Fatal(err)
		}
		if err := store.Put(t.Context(), ".doctor", strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
		expect(other, true)
		if err := store.Put(t.Context(), "f/r/front.png", strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
		expect(other, false)
	}
	away := server.Open(t, func(o *media.BucketOptions) { o.Prefix = "away/" })
	server.Kill(t)
	if _, err := away.Marker(t.Context()); err == nil {
		t.Error("a store that is away has no marker")
	}
	if _, err := away.Empty(t.Context()); err == nil {
		t.Error("a store that is away is empty")
	}
}
