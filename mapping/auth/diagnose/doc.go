// Package diagnose says what is wrong with the OAuth signature of a request, for those who
// write or operate clients.
//
// # Principles
//
//  1. [Parse] reads raw requests and takes them as they are: faults that a server would not accept
//     are the ones to find.
//  2. Whether a request is accepted is decided by package auth alone. What is found here
//     explains its decision, and names all faults at once instead of the first.
//  3. If the secrets are known, the signature is computed again with each usual mistake, and
//     with each two of them. The mistake with which it fits is the one that was made.
//  4. A report contains no secret. It shows what the request itself contains.
//
// # How it is tested
//
// Each mistake is made by a signer of the tests and has to be found. Fuzz targets feed the
// parsers and the diagnosis with anything.
package diagnose
