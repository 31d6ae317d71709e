package binlog

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"
)

// maxPrepared bounds the XA transactions that are known to be prepared.
const maxPrepared = 1000

// xaTransactions holds the changes of XA transactions from the place in the log where they are
// prepared, with their rows, to the place where they are committed and become visible.
type xaTransactions struct {
	current  string              // the id of the open one, once its rows are over
	prepared map[string]struct{} // ids
	changes  *Set                // of all of these
}

// prepare takes the changes of the open transaction and leaves an empty set.
func (x *xaTransactions) prepare(open **Set) {
	if x.prepared == nil || len(x.prepared) >= maxPrepared {
		x.prepared = map[string]struct{}{} // the commit of one that is forgotten changes anything
	}
	if x.changes == nil {
		x.changes = *open
	} else {
		x.changes.Merge(*open)
	}
	x.prepared[x.current] = struct{}{}
	*open = (*open).New()
}

// end ends a prepared transaction.
func (x *xaTransactions) end(id string, committed bool, open *Set) {
	_, known := x.prepared[id]
	switch {
	case committed && known:
		open.Merge(x.changes)
	case committed: // it was prepared before the log was opened
		open.AddAll()
	}
	if delete(x.prepared, id); len(x.prepared) == 0 {
		x.changes = nil
	}
}

// addStatement handles a statement in the log: the bounds of a transaction, a change of the schema,
// TRUNCATE, or a change of rows in the format STATEMENT.
func (r *Reader) addStatement(h *replication.EventHeader, schema string, query []byte) {
	words := leadingWords(query, 5)
	switch first, second := words[0], words[1]; {
	case first == "begin", first == "start" && second == "transaction":
		r.inside = true
		return
	case first == "xa":
		id := string(bytes.TrimSpace(bytes.TrimPrefix(bytes.ToLower(query[:min(len(query), maxText)]), []byte("xa "+second))))
		switch second {
		case "start", "begin":
			r.inside = true
		case "end":
			r.xa.current = id
		case "commit", "rollback":
			r.xa.end(id, second == "commit", r.open)
			r.commit(h)
		}
		return
	case first == "commit", first == "rollback" && second != "to":
		r.commit(h)
		return
	case first == "rollback", first == "savepoint", first == "release":
		return
	case first == "alter" && (words[3] == "disable" || words[3] == "enable") && words[4] == "keys": // as reindexing does
	case !slices.Contains([]string{"analyze", "optimize", "repair", "check", "flush", "grant", "revoke"}, first):
		r.addNames(first, second, schema, query)
	}
	if !r.inside {
		r.commit(h)
	}
}

// addNames adds that any row may have changed of the tables whose names are in a statement. It
// may find more than the statement changes, which only costs time.
func (r *Reader) addNames(first, second, schema string, query []byte) {
	named := bytes.Contains(bytes.ToLower(query), bytes.ToLower([]byte(r.database)))
	if !named && !strings.EqualFold(schema, r.database) {
		return
	}
	var tables []*Table
	for word := range identifiers(query) {
		if name, ok := strings.CutPrefix(strings.ToLower(word), r.prefix); ok {
			if t := TableOf(name); t != nil && !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	if named && first == "drop" && (second == "database" || second == "schema") {
		r.open.AddAll()
	}
	r.schema = r.schema || len(tables) > 0
	for _, t := range tables {
		r.open.AddTable(t)
		if slices.Contains([]string{"insert", "update", "delete", "replace", "load", "call", "with"}, first) {
			r.find(findFormat)
		}
	}
}

// leadingWords returns the first words of a statement in lower case, "" where there are fewer.
// Comments are no words.
func leadingWords(query []byte, count int) []string {
	for {
		query = bytes.TrimSpace(query)
		if !bytes.HasPrefix(query, []byte("/*")) || bytes.HasPrefix(query, []byte("/*!")) {
			break
		}
		_, rest, ok := bytes.Cut(query, []byte("*/"))
		if !ok {
			break
		}
		query = rest
	}
	words := make([]string, count)
	i := 0
	for word := range identifiers(query[:min(len(query), maxText)]) {
		if i == count {
			break
		}
		words[i] = strings.ToLower(word)
		i++
	}
	return words
}

// identifiers yields everything in a statement that can be a name or a keyword.
func identifiers(query []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		const maxName = 64 // characters, of at most four bytes
		for word := range bytes.FieldsFuncSeq(query, func(c rune) bool {
			return c != '_' && c != '$' && c < 0x80 && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
		}) {
			if len(word) <= 4*maxName && !yield(string(word)) {
				return
			}
		}
	}
}
