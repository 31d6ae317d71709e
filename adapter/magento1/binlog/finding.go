package binlog

// A Finding is a problem of a server, or in its log, that its operator should know about.
type Finding struct {
	// Name is the setting or the right that it is about, such as "binlog_format".
	Name string
	// Problem describes the problem, and Remedy the way to solve it.
	Problem, Remedy string
	// Fatal: the log cannot identify the changed records, so that they must be found by polling.
	Fatal bool
}

var findFormat = Finding{
	Name: "binlog_format", Problem: "a statement is in the log instead of the rows that it changed, so all records of its tables are compared",
	Remedy: "set binlog_format = ROW for all connections", Fatal: true,
}

func findRowImage(table string) Finding {
	return Finding{
		Name: "binlog_row_image", Problem: "rows of " + table + " are in the log without the columns that say whose they are, so all records of the table are compared",
		Remedy: "set binlog_row_image = FULL or NOBLOB for all connections", Fatal: true,
	}
}

func findLayout(table string) Finding {
	return Finding{
		Name: table, Problem: "its rows in the log do not have the columns that the table has now, so all of its records are compared",
		Remedy: "nothing, if the table has been altered; otherwise check that it is one of Magento 1 or OpenMage",
	}
}

func findUndecoded(table string) Finding {
	return Finding{
		Name: table, Problem: "rows of it in the log cannot be decoded, so all of its records are compared",
		Remedy: "report the types of the table's columns",
	}
}
