package backups

import (
	"encoding/json"
	"errors"
	"time"
)

// format is the version of the form of archives.
const format = 1

// The names of entries.
const (
	headerEntry   = "portico-backup.json"
	manifestEntry = "manifest.json"
	tablesFolder  = "tables/"
	mediaFolder   = "media/"
)

const (
	// pieceBytes is about the size of an entry with rows.
	pieceBytes = 4 << 20
	// maxPieceBytes is the maximum size of such an entry, whose rows may be large.
	maxPieceBytes = 256 << 20
	// maxHeaderBytes is the maximum size of the header and the manifest.
	maxHeaderBytes = 16 << 20
)

// A Header is the first entry of an archive. It holds the information that reading the archive
// takes.
type Header struct {
	Format     int       `json:"format"`
	Created    time.Time `json:"created"`
	Program    string    `json:"program"` // the version of Portico
	Engine     string    `json:"engine"`
	Migrations []int64   `json:"migrations"`
	Tables     []*Table  `json:"tables"`
}

// A Manifest is the last entry of an archive. It counts the contents.
type Manifest struct {
	Created  time.Time           `json:"created"`
	Engine   string              `json:"engine"`
	Tables   map[string]TableSum `json:"tables"`
	Counters map[string]int64    `json:"counters"` // the last keys that the database gave, by table
	Media    MediaSum            `json:"media"`
}

// A TableSum is the number of rows of a table, and their checksum.
type TableSum struct {
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"`
}

// A MediaSum is the number of images, their size and their checksum. Missing counts the images that
// the database names and the store did not have.
type MediaSum struct {
	Files   int64  `json:"files"`
	Bytes   int64  `json:"bytes"`
	Missing int64  `json:"missing"`
	Digest  string `json:"digest"`
}

// Rows returns the number of all rows.
func (m *Manifest) Rows() (total int64) {
	for _, t := range m.Tables {
		total += t.Rows
	}
	return total
}

// A Progress is called from time to time with the current part, a table or "images", and the number
// of its rows or files that are done.
type Progress func(part string, done int64)

// call calls a progress unless it is nil.
func (p Progress) call(part string, done int64) {
	if p != nil {
		p(part, done)
	}
}

// Errors of archives.
var (
	ErrNoBackup   = errors.New("this is not a backup of Portico")
	ErrIncomplete = errors.New("the backup ends too early: it was cut off, or never finished")
	ErrDamaged    = errors.New("the backup is damaged")
	ErrNotEmpty   = errors.New("the database is not empty")
)

// mediaLine returns the bytes that one image adds to the checksum of images.
func mediaLine(name string, size int64, digest []byte) []byte {
	line, _ := json.Marshal([]any{name, size, digest}) // of these types it never fails
	return line
}
