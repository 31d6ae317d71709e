// Package report writes the report of a run of the contract suite: as text for a terminal
// ([Table]), as JSON ([JSON]), as JUnit XML for CI viewers ([JUnit]), as an HTML page
// ([HTML]), and as Markdown for the summary of a CI job ([Markdown]).
//
// # Principles
//
//  1. The content of a report comes from an untrusted server. It is limited in length and
//     escaped for its medium, including control characters and characters that change the
//     direction of text. So it can move no cursor, end no paste and run no script.
//  2. A failure is shown with a command that repeats the request, the expected reply, the
//     clause that requires it, and the differences. Each clause, and each difference between
//     the dialects, is shown with its section of the specification.
//  3. A report begins with what is wrong in every reply, and with the resources that do not
//     answer at all (overview.go). Other failures are grouped by cause, the same kind of
//     difference at the same place, because one fault of a server fails hundreds of cases
//     (summary.go).
//  4. Missing tests are as visible as failures: skipped runs, clauses whose runs were all
//     skipped, and clauses without a run.
//  5. The HTML page is one file and loads nothing from the network. Its content security
//     policy allows only its own script and style, by their digests; only links to the
//     specification lead elsewhere. The causes of failures are readable without
//     JavaScript. The script adds filters, and unfolds the details of the cases, which are
//     compressed: a page of 800 failures stays below a megabyte.
//
// # How it is tested
//
// A sample report with hostile texts is written in every format and read back by a parser
// of that format. The page is tested in headless Chromium: filters, unfolding, keyboard,
// contrast in both color schemes, print, and that it neither runs content of the report
// nor loads anything.
package report
