package engine

import (
	"context"
	"database/sql/driver"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// A sqliteConnector opens connections of SQLite in two modes for which the driver has no option.
//
// They have no mutex: the threading mode that SQLite calls multi-thread, where one connection is used by one
// thread at a time. Package sql does so, and the driver relies on it. The driver offers serialized mode only, in
// which each access to a column takes the mutex two or three times: a quarter of the processor time of a list. To
// interrupt a statement takes no mutex in either mode.
//
// And they keep the plan of a statement (SQLite's query planner stability guarantee): without it SQLite looks at
// the values of parameters, and prepares the statement again for each new limit, and for each new value of a
// comparison with a number as small as the ids of websites and store views. A list of products takes up
// to a third longer then, if clients ask for store views in turn.
type sqliteConnector struct{ driver.Connector }

// Connect opens a connection.
func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	tls, handle := libc.NewTLS(), sqliteHandle(conn)
	opened := &sqliteConn{Conn: Wrap(conn), db: uintptr(unsafe.Pointer(handle)), tls: tls, kept: map[string]*sqliteStmt{}}
	if handle == nil {
		return opened, nil
	}
	if mutex := handle.Fmutex; mutex != 0 {
		handle.Fmutex = 0 // functions that lock skip a mutex that is missing
		lib.Xsqlite3_mutex_free(tls, mutex)
	}
	const slot = 8 // bytes of an argument
	arguments := libc.VaList(tls.Alloc(2*slot), int32(1), uintptr(0))
	defer tls.Free(2 * slot)
	lib.Xsqlite3_db_config(tls, opened.db, lib.SQLITE_DBCONFIG_ENABLE_QPSG, arguments)
	return opened, nil
}

// sqliteHandle returns the handle of a connection of the driver, which has no method for it. It returns nil if
// a later driver stores it elsewhere; connections then are as the driver opens them.
func sqliteHandle(conn driver.Conn) *lib.Tsqlite3 {
	v := reflect.ValueOf(conn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	field := v.Elem().FieldByName("db")
	if !field.IsValid() || field.Kind() != reflect.Uintptr {
		return nil
	}
	return sqliteMemory[lib.Tsqlite3](uintptr(field.Uint()))
}

// sqliteMemory returns a pointer to memory of SQLite's own, which the garbage collector ignores.
func sqliteMemory[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }
