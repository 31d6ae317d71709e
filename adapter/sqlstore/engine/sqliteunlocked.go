package engine

import (
	"context"
	"database/sql/driver"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// An unlockedConnector opens connections of SQLite without a mutex: the threading mode that SQLite calls
// multi-thread, where one connection is used by one thread at a time. Package sql does so, and the driver
// relies on it. The driver offers serialized mode only, in which each access to a column takes the mutex two or three
// times: a quarter of the processor time of a list. To interrupt a statement takes no mutex in either mode.
type unlockedConnector struct{ driver.Connector }

// Connect opens a connection.
func (c unlockedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if handle := sqliteHandle(conn); handle != nil && handle.Fmutex != 0 {
		mutex := handle.Fmutex
		handle.Fmutex = 0 // functions that lock skip a mutex that is missing
		tls := libc.NewTLS()
		lib.Xsqlite3_mutex_free(tls, mutex)
		tls.Close()
	}
	return conn, nil
}

// sqliteHandle returns the handle of a connection of the driver, which has no method for it. It returns nil if
// a later driver stores it elsewhere; connections then keep their mutex.
func sqliteHandle(conn driver.Conn) *lib.Tsqlite3 {
	v := reflect.ValueOf(conn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	field := v.Elem().FieldByName("db")
	if !field.IsValid() || field.Kind() != reflect.Uintptr {
		return nil
	}
	address := uintptr(field.Uint())
	return *(**lib.Tsqlite3)(unsafe.Pointer(&address)) // memory of SQLite's own, which the garbage collector ignores
}
