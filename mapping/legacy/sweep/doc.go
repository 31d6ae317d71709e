// Package sweep reads everything that two systems offer through the contract and compares
// it, as the proof that a migration has lost and changed nothing.
//
// A sweep reads every list page by page, as every caller, in JSON and XML, and every single
// record and part of the records that the lists name.
//
// # Principles
//
//  1. The route table says what there is to read: which lists exist, and which single
//     records and parts belong to their records ([contract.Table.PathParams]). A route that
//     is added there is read here.
//  2. Lists are walked by ascending id, each system at its own pace: the records of both
//     are matched by id, so that a record that one system lacks is one difference, and the
//     records after it are compared with their counterparts.
//  3. A difference counts only if it is there again after a pause: someone may have changed
//     the record between the two replies.
//  4. Memory does not grow with the store. A sweep holds one page of each open list, the answers
//     to as many reads of records as it makes at once, and
//     the keys of the lists that other lists depend on (categories), up to a bound.
//  5. Both systems are untrusted. A list ends when a page is short or brings no new record,
//     and at twice the length that was counted at the beginning; keys that do not belong in
//     a path are not followed; the caller bounds the size of replies.
//  6. The state after each record is complete: a sweep continues where a copy of its state
//     was taken, and counts nothing twice.
//
// # How it is tested
//
// With systems in memory that lack, change and add records, repeat their last page, lie
// about everything or fail, and with a sweep that continues from the state after every
// single commit. In cmd/portico/app two whole servers are compared.
package sweep
