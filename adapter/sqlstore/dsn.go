package sqlstore

// ValidDSN tells whether dsn names a database that [Open] may be able to open;
// its error says what would be valid.
func ValidDSN(dsn string) error {
	_, err := sqlitePath(dsn)
	return err
}
