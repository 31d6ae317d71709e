// Package strictyaml decodes YAML files that people write into structs, and reports all
// faults of a file at once.
//
// # Principles
//
//  1. A fault names its line, the path of the value, and the valid values. One fault does not
//     hide another.
//  2. Nothing is ignored or guessed: unknown and repeated names, values of another type, and
//     further documents are faults.
//  3. Tags of struct fields describe the format: see [Decoder.Decode].
//  4. Files are hostile. Anchors, aliases and tags are refused, because aliases can expand
//     exponentially, and no value is visited that the structs have no place for. Only files
//     that the program itself contains may use aliases.
//  5. Files may hold secrets. No fault of this package repeats a value.
//
// # How it is tested
//
// With files that have one or several faults. The packages that read files with it test their
// formats, and fuzz them.
//
// # Suggest
//
// Package suggest finds the name that a person probably meant by a misspelled one.
//
// Its only function computes Levenshtein distances, so callers bound how often they ask
// about one hostile file. It is tested by a table of names and by the packages that read
// files of people.
package strictyaml
