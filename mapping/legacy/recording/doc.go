// Package recording stores observed traffic: sampled exchanges as case files that the
// contract suite can read, and counts of requests by caller.
//
// # Principles
//
//  1. No client waits. An exchange that cannot be queued immediately is dropped and
//     counted; disk errors are logged at most once a minute.
//  2. Everything that is written has been masked by package redact. A request that cannot be
//     masked is not written at all; of a reply that cannot be masked, the body is left
//     out.
//  3. Files are written atomically: to a temporary file that is then renamed. Each process
//     has its own files, so that several processes can share a folder.
//  4. Everything is bounded: the size of bodies, the rate, the size of all files, the
//     number of rows and the content of each row.
//
// # How it is tested
//
// Tests compare single exchanges with their recordings, and check the bounds, folders that cannot
// be written, two recorders in one folder, and a recorder that continues after another. Package
// main replays all recorded exchanges through a recorder, searches its files for every personal
// value of the demo store, reads the files with the suite, and kills the process while it writes.
package recording
