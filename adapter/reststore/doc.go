// Package reststore implements [replica.Backend] for any HTTP backend that speaks JSON. A mapping
// file describes the backend; package replica combines the backend's records with the local
// replica.
//
// # Principles
//
//  1. A backend is data. Everything specific to a backend is in its mapping file: the requests that
//     carry out an operation, the place of documents in a response, the jq expressions that convert
//     documents to attributes and back, and the meanings of errors.
//  2. A mapping file is validated completely before any request is sent. Unknown attributes and
//     keys, expressions that do not compile, and missing operations are reported together, each
//     with file, line and path. A [Trial] applies a mapping to one record of the backend, for
//     people who write mapping files.
//  3. Expressions see the backend's JSON and the legacy attribute names. Values are converted by
//     the attribute's kind; decimals and times are converted exactly, without floating point.
//  4. Unchanged documents are not decoded: a document with the same bytes as the last one read has
//     the same tag.
//  5. Values at store views are read only of documents that have changed, store view by store view
//     (views.go).
//  6. The backend is not trusted. Responses are bounded in size and depth and must be JSON of the
//     expected shape; anything else is Unavailable. Response text is logged only where the mapping
//     selects it, because it may contain personal data. Files of records, such as images, are only
//     read from hosts that the operator has allowed.
//  7. Only requests that are safe to repeat are repeated: GET requests and GraphQL queries, a few
//     times, within a retry budget and after the pause that the backend asks for, and requests that
//     were rejected because their token had expired.
//  8. A change that scans do not select is found by a watch (watch.go): it compares a list of small
//     documents with the one before. A watch that fails does not stop a scan, and is repeated.
//  9. A GraphQL response with errors has no documents, whatever its status and its data.
//
// # How it is tested
//
// Against small servers that differ from each other and from Medusa: through the conformance suite
// of package adaptertest and through simulated backend failures. Servers of files send files that
// are cut, too large, moved, on other hosts, or no images. Retries are counted. A further suite
// runs against a real Medusa and a real Vendure that the tests start.
package reststore
