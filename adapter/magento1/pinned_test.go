package magento1

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// A movingConnector makes connections to one of several servers, as an address does that leads to
// another server later.
type movingConnector struct {
	driver.Connector
	servers []driver.Connector
	at      int
}

// Connect implements [driver.Connector].
func (c *movingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	return c.servers[c.at].Connect(ctx)
}

// TestPinned loses a connection to a server whose address leads to the same and to another server
// afterwards.
func TestPinned(t *testing.T) {
	moving := &movingConnector{}
	for _, dsn := range []string{sqltest.MariaDB(t), sqltest.LoggedMariaDB(t)} {
		config, err := mysql.ParseDSN(strings.TrimPrefix(dsn, "mysql:"))
		if err != nil {
			t.Fatal(err)
		}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			t.Fatal(err)
		}
		moving.servers = append(moving.servers, connector)
	}
	pinned := &pinnedConnector{Connector: moving}
	for _, c := range []struct {
		name string
		at   int
		want error
	}{
		{"the first connection", 0, nil},
		{"the same server", 0, nil},
		{"another server", 1, ErrOtherServer},
		{"the same server again", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			moving.at = c.at
			conn, err := pinned.Connect(t.Context())
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if err == nil {
				if err := conn.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
