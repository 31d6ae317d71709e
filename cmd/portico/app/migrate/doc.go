// Package migrate has the commands with which an operator moves resources from a legacy store to
// Portico: compare, plan, report and mirror.
//
//   - "portico compare" sends the same requests to the legacy store and to Portico, and reports the
//     differences between their replies. Its requests are recorded exchanges (replay.go), or it
//     reads all records (sweep.go).
//   - "portico plan" shows how far each resource has moved, and the next step.
//   - "portico report" shows the clients and the calls that they make, from the counts that servers
//     record.
//   - "portico mirror" lists the writes that are still to be repeated at the legacy store, and
//     retries or skips them.
//
// # Principles
//
//  1. The commands contain flags, texts and reports. Package compare defines differences, and
//     package plan decides on the next step.
//  2. The commands collect the evidence for a plan, from the store, from recorded counts and from
//     running servers. They do not change the routes: the operator does.
//
// # How it is tested
//
// The tests here check single rules and texts. The tests of package app and of
// contracttests/migration run the commands with whole systems during a migration.
package migrate
