// Package growth measures, in tests only, how the program performs as a store grows: reads, filters and
// starts with many products, many connections, and many cached replies.
//
// # Principles
//
//  1. The program is a process of its own, so that its memory and its processor time are the server's
//     alone.
//  2. A figure is a ratio to another one of the same run, such as the time of page 5,000 to that of
//     page 1. Calls that are compared take turns. Where a ratio makes no sense, as for the time of a
//     start, the processor time comes with it, which other programs hardly change.
//  3. Where the size of the program or its start matters, the program is built as for a release,
//     and is not the test binary.
//  4. Large stores are on disk, in /var/tmp unless TMPDIR names another folder, and are removed at
//     the end.
//
// # How it is run
//
// Without flags the benchmarks of a catalog are skipped. A million products take about a minute and
// 2 GB, ten million of PostgreSQL a quarter of an hour and 20 GB:
//
//	go test ./contracttests/growth -run '^$' -bench Catalog -benchtime 1x -timeout 2h -products=1000000 -engine postgres
//	go test ./contracttests/growth -run '^$' -bench 'Start|Connections' -benchtime 1x
//
// With -store the products stay in a database for further runs.
//
// # How it is tested
//
// A test compares the program's replies about generated products with its replies about the same products
// after it has written them itself, on each engine. Another one runs the statements of the guide to large
// catalogs, and checks that the engines use the indexes.
package growth
