// Package redact returns the parts of a request that may be shown to operators: in the log,
// in counts and in explanations of refused signatures.
//
// # Principles
//
//  1. Only known text is shown: the words of the contract's paths and parameters, numbers,
//     and the beginning of consumer keys. Unknown text becomes [Masked], because a client can
//     put personal data anywhere.
//  2. Every result is bounded in length, however long the request is.
//  3. Requests that show nothing unknown cost no allocation, because every request is logged.
//
// # How it is tested
//
// By tables, and by fuzz targets that look for unknown text in the results.
package redact

// Masked stands for text that is not shown.
const Masked = "*"
