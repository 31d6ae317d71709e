// Package recording keeps what went by: sampled exchanges as case files that the
// contract suite reads, and counts of who calls what.
//
// # Principles
//
//  1. No client waits. An exchange that cannot be taken at once is dropped and
//     counted; a disk that is full or gone is told in the log, once a minute.
//  2. Nothing is written that package mask has not been through. A request of which
//     it keeps nothing is not written at all; of a reply it keeps nothing of, the
//     body is left open.
//  3. A file is whole or not there: it is written beside its place and renamed. A
//     process has its own files, so that several can share a folder.
//  4. Everything has a bound: the bodies, the rate, the size of all files, the rows
//     of counts and what each of them holds.
//
// # How it is tested
//
// Exchanges one by one against what is written of them; the bounds; folders that
// cannot be written; two recorders in one folder, and one that goes on after
// another. Package main replays all recorded exchanges through a recorder, looks in
// its files for every value of the demo store that tells of somebody, has the suite
// read them, and kills the process meanwhile.
package recording
