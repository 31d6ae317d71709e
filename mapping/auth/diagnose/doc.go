// Package diagnose finds the faults in the OAuth signature of a request, for developers and
// operators of clients.
//
// # Principles
//
//  1. [Parse] reads raw requests leniently: the faults that make a server reject a request are the
//     ones to find.
//  2. Package auth alone decides whether a request is accepted. The findings explain its decision,
//     and list all faults instead of only the first.
//  3. If the secrets are known, the diagnosis computes the signature again with each usual mistake,
//     and with each pair of them. The client made the mistake that yields the same signature.
//  4. A report contains no secret. It shows only the contents of the request itself.
//
// # How it is tested
//
// A signer of the tests makes each mistake, and the diagnosis has to find it. A file of testdata has what
// 29 libraries sent for the same requests. Of 10,000 random requests that are signed rightly, none may have
// a mistake. Fuzz targets feed arbitrary input to the parsers and the diagnosis.
package diagnose
