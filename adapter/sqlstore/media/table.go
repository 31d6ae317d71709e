package media

import (
	"context"
	"database/sql"
	"slices"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A Table reads the table media_file, which has a row for the name of each file. Each method takes the function that runs
// its statement.
type Table struct{ HasObjects bool } // the rows have the keys of objects

// objectColumn returns the column with the keys of objects.
func (t Table) objectColumn() string {
	if t.HasObjects {
		return "object"
	}
	return "NULL"
}

// Files returns the locations of the bytes of all files.
func (t Table) Files(ctx context.Context, query engine.QueryFunc) ([]Ref, error) {
	return engine.CollectRows(ctx, query, func(rows engine.Rows) (file Ref, err error) {
		var object sql.NullString
		err = rows.Scan(&file.Name, &object)
		file.Object = object.String
		return file, err
	}, "SELECT file, "+t.objectColumn()+" FROM media_file")
}

// Find returns the location of the bytes of a file, and its media type. It fails with [sql.ErrNoRows] if no row has the
// name.
func (t Table) Find(ctx context.Context, query engine.QueryFunc, name string) (file Ref, mediaType string, err error) {
	var object sql.NullString
	err = engine.First(query(ctx, "SELECT media_type, "+t.objectColumn()+" FROM media_file WHERE file = ?", name)).Scan(&mediaType, &object)
	return Ref{name, object.String}, mediaType, err
}

// Taken returns the given names that are taken.
func (t Table) Taken(ctx context.Context, query engine.QueryFunc, names []string) ([]string, error) {
	return among(ctx, query, "file", names)
}

// Unused returns the given keys of objects that no row has.
func (t Table) Unused(ctx context.Context, query engine.QueryFunc, objects []string) ([]string, error) {
	used, err := among(ctx, query, "object", objects)
	return slices.DeleteFunc(slices.Clone(objects), func(object string) bool { return slices.Contains(used, object) }), err
}

// among returns the given texts that a column holds.
func among(ctx context.Context, query engine.QueryFunc, column string, texts []string) (found []string, err error) {
	for chunk := range slices.Chunk(texts, engine.IDsPerStatement) {
		arguments := make([]any, len(chunk), engine.IDsPerStatement)
		for i, text := range chunk {
			arguments[i] = text
		}
		arguments = engine.PadToPowerOfTwo(arguments)
		some, err := engine.SelectColumn[string](ctx, query, "SELECT "+column+" FROM media_file WHERE "+engine.InList(column, arguments), arguments...)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}
