// Package diagnose says what is wrong with the OAuth signature of a request, for those who
// write or operate clients.
//
// # Principles
//
//  1. [Parse] reads requests as people have them at hand, raw or as a curl command line, and
//     takes them as they are: what a server would not accept is what is looked for. It opens
//     no file that a command line names.
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
