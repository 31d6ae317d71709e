// Package rawjson extracts values from JSON texts without decoding the rest: the documents
// in a response, and the ids and cursors in them.
//
// # Principles
//
//  1. A text is hostile. All of it must be valid JSON, of bounded depth where it is decoded.
//  2. Values are slices of the text. Only requested values are decoded.
//  3. Errors name paths, not values, which may be personal data.
//
// # How it is tested
//
// Through the responses of backends that are healthy, faulty or hostile, by the tests of
// package reststore.
package rawjson
