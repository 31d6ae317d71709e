// Package redact removes personal and secret data from copies of requests and replies. Two forms
// exist: functions such as [Path] return short text for the log, counts and explanations of refused
// signatures; a [Masker] returns whole requests and replies for recordings and comparisons.
//
// # Principles
//
//  1. Only known data stays: words of the contract's paths and parameters, numbers, fields that the
//     tables of package contract mark as public, usual words of headers. A client can put personal
//     data anywhere, so unknown data is removed.
//  2. In short text unknown data becomes [Masked]. Every result is bounded in length, however long
//     the request is. Requests without unknown data cost no allocation, because every request is
//     logged.
//  3. A mask preserves the form of the value: it replaces letters with letters, digits with digits,
//     an e-mail address with an e-mail address, a date with a date, all in the same number of
//     characters. Of the original characters only punctuation and blanks remain. Empty values stay
//     empty.
//  4. As long as the key is the same, a value always has the same mask, so that related records
//     still match. Without the key the value cannot be recovered.
//  5. Names chosen by clients are masked as well: names inside private fields, root elements,
//     parameters. A method that HTTP does not define becomes "OTHER".
//  6. All other bytes of a body stay unchanged: the body is not encoded again. If the place of
//     unknown data in a body is unknown, the whole body is rejected.
//
// # How it is tested
//
// Tables of paths, parameters and values, and of bodies and queries in every format and in unusual
// spellings. Fuzz targets plant a value in every personal field, in every form a body or a query can
// have, and search the results for it.
package redact

// Masked stands for text that is not shown.
const Masked = "*"
