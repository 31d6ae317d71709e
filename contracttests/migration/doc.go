// Package migration tests a migration from a legacy store to Portico, in tests only: requests are
// forwarded, recorded and compared, writes are mirrored, and resources move step by step.
//
// # Principles
//
//  1. The whole program runs as processes in front of legacy stores, with faults in between. The
//     tests of the packages in mapping/legacy cover what a single package promises.
//  2. In the end the tests compare the records of both sides.
//
// # How it is tested
//
// The legacy stores and the faults are planted by the tests. A rehearsal moves a whole store to
// Portico, its writes back, and there again, while clients write and read.
package migration
