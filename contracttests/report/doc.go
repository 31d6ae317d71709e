// Package report shows what a run of the contract suite found: as a text for a
// terminal ([Table]), as JSON ([JSON]), as JUnit XML for CI viewers ([JUnit]), and
// as a page for a browser ([HTML]).
//
// # Principles
//
//  1. What a report holds comes from a server that nobody vouches for, and is
//     hostile: it is cut to a bounded length and escaped for where it is shown,
//     control characters and those that turn the direction of writing included,
//     so that it moves no cursor, ends no paste and runs no script.
//  2. A failure is told by a command that makes the call again, what was expected
//     and by which clause, and where the answer differs. Each clause, and each
//     difference between the dialects, comes with its section of the specification.
//  3. What was not shown is told as plainly as what failed: runs that were
//     skipped, clauses that were skipped alone or not run at all.
//  4. The page is one file and asks the network for nothing; its policy allows
//     its own script and style alone, by their digests. Only its links to the
//     specification lead elsewhere. It is read without a script, too; the script
//     filters, and unfolds what went over the wire.
//
// # How it is tested
//
// A sample report with hostile texts goes through every form and is read back by
// parsers of the form. The page is used in headless Chromium: filters, unfolding,
// keyboard, contrast in both colour schemes, print, and that nothing of the
// report runs and nothing is fetched.
package report
