// Package consent is where the users of a shop let programs act for them (wire 13):
// the endpoints that hand out tokens, the log-in of customers and administrators, and
// the pages on which they say yes or no.
//
// # Principles
//
//  1. Who a program is, and which tokens there are, is package auth's. The pages here
//     only find out who the user is and what he wants.
//  2. What differs between customers and administrators is a row of a table (sides.go),
//     and so is every path.
//  3. Programs walk through the pages as well as people do: ids, names of fields
//     and redirects are the contract's, URLs are absolute. Nothing needs a
//     script.
//  4. Nothing is remembered here but failed log-ins. A session is a cookie, sealed with
//     a key that replicas share when they share auth.secret_key, for half an hour; it
//     ends with the password it began with, and when the user is disabled. The cookie has
//     a name and paths of its own, since the shop may be on the same host, and is
//     SameSite=Strict: a user who
//     comes from another site to confirm something is asked to log in.
//  5. A form to log in is taken only from a page of ours, and from the browser that the
//     page was given to. A form of another site sets no cookie. A program that is no
//     browser may leave out the cookie.
//  6. Only a user who is logged in decides, and only by the buttons of our pages: where
//     a browser tells that a request is another site's, or loads an image, the reply
//     is the form. To reject ends the request token.
//  7. A wrong password takes as much work as a wrong name. Failed attempts are counted
//     by account and client together, so that nobody locks a user out; by client; and,
//     up to a higher bound that clients which have logged in before are free of, by
//     account. No more passwords are hashed at a time than there are processors.
//  8. An error means that the store cannot answer; then nothing has been written.
//
// # How it is tested
//
// The pages over HTTP on a memory store: each row of wire 13, cookies that were
// changed, forms of other sites, a clock that moves on. Fuzz targets for cookies and
// targets. Whole dances, by two libraries of others, by a script and by a browser whose
// screenshots people look at, run against a whole server in cmd/portico.
package consent
