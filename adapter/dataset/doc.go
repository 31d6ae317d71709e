// Package dataset reads and writes data sets: all records of a store, and the credentials to reach
// them, as one JSON object. It contains the demo store: dataset.json, which [Load] completes with
// the times, passwords and client programs that the file does not have.
//
// # The format
//
// The object has a list of records for each resource. A record has the attributes of its schema,
// under their names, and the data that belongs to it: the parts of orders, and the assignments, the
// stock item and the images of products. The member stores holds the scoped values, by the ids of
// the store views. Every object may have a member $comment. [Schema] describes the format, and
// [Example] is a short data set.
//
// A data set that people write may leave out values that the store's rules determine, and values
// with a default. An export is marked as verbatim: its records are stored unchanged, and a missing
// value stays absent.
//
// # Principles
//
//  1. The content of a data set follows from the schemas. One table, of shapes, drives decoding,
//     encoding and the JSON Schema.
//  2. Data sets are read strictly. Unknown members, values of the wrong kind, repeated ids,
//     references to records that do not exist and missing values are errors. All errors of a file
//     are reported together, each with its line, its path in the data and the valid choices, and
//     nothing of a file with errors is stored. A JSON Schema cannot express half of these rules:
//     the decoder decides, and the schema is for editors and other programs.
//  3. Files of images cannot be outside the folder of the data set.
//  4. Writing needs memory for one batch of records.
//
// # How it is tested
//
// Tables of invalid files check the errors. The example and the demo store are decoded, and
// validated by the JSON Schema, which must accept and refuse the same files as the decoder as far
// as it can. Counts and derived values of the demo store are compared. FuzzDecode checks that no
// file makes the decoder panic. Stores that are exported, filled again and exported must give the
// same bytes.
package dataset
