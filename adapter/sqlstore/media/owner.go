package media

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// MarkerName is the name of the file or object that identifies the database that owns a store. No
// media file has such a name, as media files are in subfolders.
const MarkerName = ".portico-database"

const (
	// maxMarker is the maximum size of a marker in bytes.
	maxMarker = 4 << 10
	// markerNote follows the marker, for people.
	markerNote = "Portico stores the images of this database here, and of no other one.\n"
)

// A Marker identifies the database that owns a store.
type Marker struct {
	// Identity is the identity of the database; "" if there is no marker.
	Identity string
	// Place is where the database was; "" if that is not known.
	Place string
}

// String returns the text of a marker.
func (m Marker) String() string { return m.Identity + "\n" + m.Place + "\n" + markerNote }

// unreadable is the identity of a marker that is not in the form that Portico writes. No database
// has it.
const unreadable = "unreadable"

// readMarker reads the text of a marker.
func readMarker(from io.Reader) (Marker, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxMarker))
	if err != nil {
		return Marker{}, err
	}
	lines := strings.SplitN(string(text), "\n", 3)
	if len(lines) < 3 || lines[0] == "" {
		return Marker{Identity: unreadable}, nil
	}
	return Marker{lines[0], lines[1]}, nil
}

// A Database describes the database that uses a store, and may own it.
type Database struct {
	// Describe returns the marker of the database; it is empty for one without an identity.
	Describe func(ctx context.Context) (Marker, error)
	// NamesFiles reports whether the database names media files. The files in a store without a
	// marker are then taken for these: earlier versions wrote no markers.
	NamesFiles func(ctx context.Context) (bool, error)
	// Beside: the name of the store follows from the name of the database, so no other database
	// uses the store.
	Beside bool
	// TakeOver makes the database the owner of the store, even if another database owns it.
	TakeOver bool
}

// An OwnerError says that a store belongs to another database, or may do so. It matches
// [adapter.ErrMediaUnavailable], as it is no failure of the database.
type OwnerError struct{ text string }

// Error returns the reason and the remedy.
func (e *OwnerError) Error() string { return e.text }

// Is reports whether target is [adapter.ErrMediaUnavailable].
func (e *OwnerError) Is(target error) bool { return target == adapter.ErrMediaUnavailable }

// refusal returns the error for a store.
func refusal(format string, arguments ...any) error {
	return &adapter.Error{Kind: adapter.Unavailable, Op: "claim media", Err: &OwnerError{fmt.Sprintf(format, arguments...)}}
}

// An Owned is a store to which a database writes only if it owns it. Reading needs no right.
type Owned struct {
	Store
	database Database
	mu       sync.Mutex
	claimed  atomic.Bool
}

// NewOwned returns a store for the use of a database.
func NewOwned(s Store, database Database) *Owned { return &Owned{Store: s, database: database} }

// Check fails with an [*OwnerError] if the store may belong to another database. It changes nothing.
func (o *Owned) Check(ctx context.Context) error {
	_, _, err := o.examine(ctx)
	return err
}

// Claim makes the database the owner of the store unless it already is. It fails as Check does.
// Writing claims the store, too.
func (o *Owned) Claim(ctx context.Context) error {
	if o.claimed.Load() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for attempt := 0; ; attempt++ {
		want, has, err := o.examine(ctx)
		if err == nil && want.Identity != has.Identity {
			err = o.SetMarker(ctx, want, has.Identity != "")
		}
		if errors.Is(err, ErrMarked) && attempt == 0 { // at the same moment
			continue
		}
		o.claimed.Store(err == nil)
		return err
	}
}

// examine returns the marker that the store has to have, and the one that it has.
func (o *Owned) examine(ctx context.Context) (want, has Marker, err error) {
	if want, err = o.database.Describe(ctx); err != nil {
		return want, has, err
	}
	if has, err = o.Marker(ctx); err != nil {
		return want, has, err
	}
	replaces := o.database.Beside || o.database.TakeOver
	switch {
	case want.Identity == has.Identity:
	case want.Identity == "" && replaces:
		want = has
	case replaces:
	case has.Identity == "":
		err = o.examineUnmarked(ctx)
	case want.Identity != "" && has.Place != "" && has.Place == want.Place: // this database is where the other one was
	default:
		err = refusal("%s belongs to another database: set sql.media_dir, or media.bucket and media.prefix, to a place for this database alone. If the other database is gone for good, remove %s there", o.Store, MarkerName)
	}
	return want, has, err
}

// examineUnmarked decides about a store without a marker, which may be of an earlier version.
func (o *Owned) examineUnmarked(ctx context.Context) error {
	names, err := o.database.NamesFiles(ctx)
	if err != nil || names {
		return err
	}
	empty, err := o.Empty(ctx)
	if err == nil && !empty {
		err = refusal("%s holds images, and this database names none: they may be those of another one. Set sql.media_dir, or media.bucket and media.prefix, to an empty place", o.Store)
	}
	return err
}

// Add stores the bytes of a new file, which has no name yet.
func (o *Owned) Add(content []byte) (Pending, error) {
	if err := o.Claim(context.Background()); err != nil {
		return nil, err
	}
	return o.Store.Add(content)
}

// Put stores bytes under a name.
func (o *Owned) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	if err := o.Claim(ctx); err != nil {
		return err
	}
	return o.Store.Put(ctx, name, content, size)
}

// Remove removes the bytes of a file.
func (o *Owned) Remove(ctx context.Context, file Ref) error {
	if err := o.Claim(ctx); err != nil {
		return err
	}
	return o.Store.Remove(ctx, file)
}

// Abandoned removes objects that were uploaded and never referenced.
func (o *Owned) Abandoned(ctx context.Context, f func(objects []string) (unused []string, err error)) error {
	if err := o.Claim(ctx); err != nil {
		return err
	}
	return o.Store.Abandoned(ctx, f)
}
