// Package compare finds the differences between the replies of two systems to the same reads, field
// by field, to prove that a migration has lost and changed nothing.
//
// [Replies] and [Answers] compare the replies to one read. A sweep ([NewSweep]) reads every list
// page by page, as every caller, in JSON and XML, and every single record and part of the records
// that the lists name. A [Shadow] sends reads that one system has answered to the other system as
// well, and counts the differences.
//
// # Principles
//
//  1. Only [Options] determine what is ignored. Everything else counts: a number instead of a text,
//     null instead of "", a missing field, the order of fields and of records, every escape and
//     blank. A difference that people accept is not ignored: [Expectations] describe it with a
//     reason, so that a report can count it separately.
//  2. A difference is named after a field of the contract, so that the name can be a metric label;
//     names that are not part of the contract become "other". It is reported once: records are
//     matched by their identity, so that a missing record is one difference, and the records after
//     it are compared with their counterparts.
//  3. Both systems are untrusted. Package codec limits the parsed input, reports are limited in
//     number and length, and comparing two bodies takes at worst the time of sorting. A list ends
//     when a page is short or brings no new record, and at twice the length that was counted at the
//     beginning; keys that do not belong in a path are not followed; the caller limits the size of
//     replies.
//  4. The route table determines the reads of a sweep ([contract.Table.PathParams]). It walks lists
//     by ascending id, each system at its own pace, and page by page if neither has them in that
//     order. A difference counts only if it is there again after a pause, since a client may have
//     changed the record between the two replies.
//  5. The memory of a sweep does not grow with the store: it holds one page of each open list, the
//     replies to concurrent reads of records, and up to a limit the keys of the lists on which
//     other lists depend (categories). Its [SweepState] after each record is complete: a sweep
//     continues from a copy of it, and counts nothing twice.
//  6. Clients do not notice a shadow. Their reply is complete before the other system is asked.
//     While clients send requests, all comparisons together use at most a twentieth of the time of
//     one processor, and reads that do not fit into the queue are dropped before anything is copied.
//  7. A shadow repeats only requests that change nothing. A difference counts only if no write was
//     in progress between the two replies. A failure or timeout of the other system is counted
//     separately. Compressed replies are unpacked, and replies that the client asked to shorten
//     (a range, or not modified) are not compared.
//
// # How it is tested
//
// Tables cover each kind of difference in every format, everything that options and expectations
// accept, and the faults of expectation files. A fuzz target checks that a body equals itself, and
// that bodies with different bytes differ. Sweeps and shadows run against systems in memory that
// lack, change and add records, repeat pages, lie, hang and fail; a sweep continues from the state
// after every single commit. The tests of contracttests/migration compare two whole servers, one of
// them with planted differences, and a benchmark in contracttests/speed measures the cost of a
// shadow to clients.
package compare
