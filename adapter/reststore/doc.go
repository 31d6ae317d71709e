// Package reststore speaks to any JSON backend over HTTP, as a mapping file says. It
// is a [sidestore.Backend]: the records that it keeps in part are made whole by
// package sidestore.
//
// # Principles
//
//  1. A backend is data. All that is special about one stands in its mapping file: which
//     requests do a verb, where records stand in a reply, which expressions (jq, compiled
//     once) turn them into attributes and back, what its errors mean.
//  2. A mapping file is checked whole before anything is sent: unknown attributes and
//     words, expressions that do not compile and verbs that are missing are told together,
//     each with file and line.
//  3. Expressions see the backend's JSON and the legacy names. Forms are converted by the
//     attribute's kind: decimals and times exactly, without floating point.
//  4. What is unchanged is not looked into: a document whose bytes are those that were
//     read last is not decoded.
//  5. The backend is not trusted: replies are bounded in size and depth and must be JSON of
//     the promised form; anything else is Unavailable. What they say goes to the log as far
//     as the mapping picks it out: it may tell of persons.
//  6. Only what may be sent twice is sent twice: reads, a few times, in a budget, after a
//     pause the backend may name; and what was refused for a token that had ended.
//
// # How it is tested
//
// Against small servers that are unlike each other and unlike Medusa, through the
// conformance suite of package adaptertest and the faults of a sick backend; against
// a Medusa that the tests start.
package reststore
