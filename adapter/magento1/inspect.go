package magento1

import (
	"context"
	"errors"

	"github.com/portico-commerce/portico/adapter"
)

// An Identity says which database this is and how far it has got. Fields that the server
// does not have, or that the user may not read, are empty.
type Identity struct {
	Server   string // server_uuid of MySQL, server_uid of MariaDB, and server_id otherwise
	Version  string
	Database string
	Prefix   string
	// LogFile and LogPosition are the end of the binary log, and GTID the transactions
	// that it holds.
	LogFile     string
	LogPosition int64
	GTID        string
}

// Identity returns what the server says about itself.
func (d *Database) Identity(ctx context.Context) (Identity, error) {
	return Identity{}, errors.ErrUnsupported
}

// NextKeys returns the greatest key that the tables have given so far to records of each
// resource, those of parts included: AUTO_INCREMENT less one, so that the keys of deleted
// records count. Resources whose tables do not exist are absent.
func (d *Database) NextKeys(ctx context.Context) (map[adapter.Resource]adapter.Key, error) {
	return nil, errors.ErrUnsupported
}

// RangeSize is the number of ids that a caller of Digests should ask for at a time.
const RangeSize = 1000

// Digests returns one text for everything from which Records makes the records of a part
// with keys in (after, through]: if it is the same as before, so are the records, as long
// as no checksum collides. The server computes it, in one statement. It covers the rows of
// all tables of the part, and those that all records of it depend on (store views,
// attributes). Of parts that RecordsAfter always reads as a whole it covers everything,
// whatever the keys are.
func (d *Database) Digests(ctx context.Context, p Part, after, through adapter.Key) (string, error) {
	return "", errors.ErrUnsupported
}

// RulesEvaluated returns the last day for which catalogue price rules were evaluated, as
// "2006-01-02", or "" if there are no rule prices.
func (d *Database) RulesEvaluated(ctx context.Context) (day string, err error) {
	return "", errors.ErrUnsupported
}

// An EncodedTwice is a text that looks as if it had been encoded in UTF-8 twice, such as
// "Ã©" for "é".
type EncodedTwice struct {
	Part  Part
	Table string // without the prefix
	Key   string // "product 7, attribute name, store 0"
}

// DoublyEncoded returns texts that look as if they had been encoded twice, at most 20 of
// each part, of the names of products, categories and customers. It looks at no more than
// the first and the last 10,000 of each. If there are any, Options.Charset is most likely
// what the bytes of the tables really are.
func (d *Database) DoublyEncoded(ctx context.Context) ([]EncodedTwice, error) {
	return nil, errors.ErrUnsupported
}
