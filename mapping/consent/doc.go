// Package consent lets the users of a shop grant programs access to their accounts
// (wire 13): the endpoints that issue tokens, the log-in of customers and administrators,
// and the pages on which users confirm or reject access.
//
// # Principles
//
//  1. Package auth identifies programs and manages tokens. The pages here only identify the
//     user and record the user's decision.
//  2. Every difference between customers and administrators is a row of a table
//     (userkinds.go), and so is every path.
//  3. Programs use the pages as well as people do: ids, field names and redirects are the
//     contract's, and URLs are absolute. Nothing requires JavaScript.
//  4. The server stores nothing except counts of failed log-ins. A session is an encrypted
//     cookie, valid for half an hour; replicas with the same auth.secret_key accept each
//     other's cookies. It ends when the password changes or the user is disabled. The
//     cookie has its own name and paths, because the shop may be on the same host, and is
//     SameSite=Strict: a user who follows a link from another site is asked to log in.
//  5. A log-in or log-out form is accepted only if one of these pages issued it, and only from the
//     browser that it was issued to. A form from another site sets no cookie. A program
//     that is not a browser may omit the cookie.
//  6. Only a logged-in user can decide, and only with the buttons of these pages: if the
//     browser reports that a request comes from another site or loads an image, the reply
//     is the form. Rejecting invalidates the request token.
//  7. A wrong password takes as much work as an unknown name. Failed attempts are limited per
//     account and client, so that no client can lock a user out; per client; and, with a
//     higher limit that does not apply to clients that have logged in before, per account.
//     The number of passwords hashed at the same time is limited to the number of processors.
//  8. An error means that the store failed; then nothing has been written.
//  9. The pages show the program that asks, the rights that the contract and the user's
//     REST role give it, and the host to which it takes the user. Names that others choose are
//     shown as plain names: short, in one line, without hidden or reordering characters.
//  10. The only script copies the verifier. It is a file of this site, and the page works
//     without it.
//
// # How it is tested
//
// The pages over HTTP on a memory store: each row of wire 13, manipulated cookies, forms of
// other sites, a clock that moves. Fuzz targets for cookies and targets. In cmd/portico/app,
// two third-party libraries, a script and a browser perform the whole flow with a whole
// server; people review screenshots of the browser.
package consent
