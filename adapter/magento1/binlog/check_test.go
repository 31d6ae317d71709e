package binlog_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/binlog"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

func TestCheck(t *testing.T) {
	s := newShop(t)
	name := s.dsn[strings.LastIndex(s.dsn, "/")+1:]
	asUser := func(grants ...string) func(*shop) binlog.Options {
		return func(s *shop) binlog.Options {
			s.exec("CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'secret'")
			s.Cleanup(func() {
				if _, err := s.db.Exec("DROP USER reader@'127.0.0.1'"); err != nil {
					s.Error(err)
				}
			})
			for _, grant := range grants {
				s.exec("GRANT " + grant + " TO reader@'127.0.0.1'")
			}
			o := s.options()
			o.DSN = strings.Replace(s.dsn, "root@", "reader:secret@", 1)
			return o
		}
	}
	after := func(undo string, statements ...string) func(*shop) binlog.Options {
		return func(s *shop) binlog.Options {
			s.exec(statements...)
			s.Cleanup(func() {
				if _, err := s.db.Exec(undo); err != nil {
					s.Error(err)
				}
			})
			return s.options()
		}
	}
	for _, c := range []struct {
		name    string
		options func(*shop) binlog.Options
		want    []string // names, and parts of the remedies
	}{
		{"nothing to find", (*shop).options, nil},
		{"STATEMENT", after("SET GLOBAL binlog_format = 'ROW'", "SET GLOBAL binlog_format = 'STATEMENT'"), []string{"binlog_format: set binlog_format = ROW (fatal)"}},
		{"MIXED", after("SET GLOBAL binlog_format = 'ROW'", "SET GLOBAL binlog_format = 'MIXED'"), []string{"binlog_format: set binlog_format = ROW (fatal)"}},
		{"MINIMAL", after("SET GLOBAL binlog_row_image = 'FULL'", "SET GLOBAL binlog_row_image = 'MINIMAL'"), []string{"binlog_row_image: set binlog_row_image = FULL or NOBLOB (fatal)"}},
		{"NOBLOB", after("SET GLOBAL binlog_row_image = 'FULL'", "SET GLOBAL binlog_row_image = 'NOBLOB'"), nil},
		{"short retention in days", after("SET GLOBAL expire_logs_days = 0", "SET GLOBAL expire_logs_days = 0.5"), []string{"binlog_expire_logs_seconds: keep it for 3 days or more"}},
		{"long retention", after("SET GLOBAL expire_logs_days = 0", "SET GLOBAL expire_logs_days = 7"), nil},
		{"replica without its primary's changes", after("RESET SLAVE ALL", "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1"),
			[]string{"log_slave_updates: set log_slave_updates = ON (log_replica_updates in MySQL 8.0.26 and later), or read the log of the primary server (fatal)"}},
		{"id of the server", func(s *shop) binlog.Options {
			o := s.options()
			o.ServerID = 1
			return o
		}, []string{"server_id: choose another id (fatal)"}},
		{"id of a replica", func(s *shop) binlog.Options {
			o := s.options()
			o.ServerID = 78
			s.open(o)
			return o
		}, []string{"server_id: choose another id (fatal)"}},
		{"all rights", asUser("SELECT ON `"+name+"`.*", "REPLICATION SLAVE, BINLOG MONITOR ON *.*"), nil},
		{"no rights to replicate", asUser("SELECT ON `" + name + "`.*"),
			[]string{"BINLOG MONITOR: an administrator of the database can allow it: GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO 'reader'@'127.0.0.1' (fatal)"}},
		{"no right to read the log", asUser("SELECT ON `"+name+"`.*", "BINLOG MONITOR ON *.*"),
			[]string{"REPLICATION SLAVE: an administrator of the database can allow it: GRANT REPLICATION SLAVE ON *.* TO 'reader'@'127.0.0.1' (fatal)"}},
		{"no right to read a table", asUser("SELECT ON `"+name+"`."+prefix+"core_website", "REPLICATION SLAVE, BINLOG MONITOR ON *.*"),
			[]string{"SELECT: an administrator of the database can allow it: GRANT SELECT ON `" + name + "`.* TO 'reader'@'127.0.0.1' (fatal)"}},
		{"no log", func(s *shop) binlog.Options {
			dsn := sqltest.MariaDB(s)
			magento1test.Fill(s, dsn, magento1test.Demo, "")
			return binlog.Options{DSN: dsn}
		}, []string{"log_bin: set log_bin in the server's configuration and start it again (fatal)", "binlog_format: set binlog_format = ROW (fatal)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			findings, err := binlog.Check(t.Context(), c.options(s.in(t)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				one := f.Name + ": " + f.Remedy
				if f.Fatal {
					one += " (fatal)"
				}
				got = append(got, one)
				if f.Problem == "" || strings.Contains(f.Problem, "secret") {
					t.Errorf("problem %q", f.Problem)
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
