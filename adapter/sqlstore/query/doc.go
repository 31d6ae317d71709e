// Package query translates queries of package adapter to conditions and orders in SQL.
//
// Text is compared and sorted by columns that hold adapter.Fold of it, byte by byte, so all engines
// agree with adapter.Apply. Conditions that SQL cannot evaluate exactly as Apply does stay out of the
// statement ([Selection]), and are evaluated while the rows are read.
//
// Its tests compare it with adapter.Apply on all engines, and fix the conditions that SQL evaluates.
package query
