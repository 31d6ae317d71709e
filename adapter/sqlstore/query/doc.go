// Package query translates queries of package adapter to conditions and orders in SQL.
//
// Text is compared and sorted by columns that hold adapter.Fold of it, byte by byte, so all engines
// agree with adapter.Apply. What SQL cannot evaluate exactly as Apply does stays out of the statement
// ([Selection]), and is evaluated while the rows are read.
//
// Its tests compare it with adapter.Apply on all engines, and fix what SQL evaluates.
package query
