// Package strictyaml decodes YAML files that people write into structs, and reports all faults of a
// file at once.
//
// # Principles
//
//  1. A fault names its line, the path of the value, and the valid values; for a misspelled name it
//     suggests a similar one ([DidYouMean]). One fault does not hide another.
//  2. Nothing is ignored or guessed: unknown and repeated names, values of another type, and
//     further documents are faults.
//  3. Tags of struct fields describe the format: see [Decoder.Decode]. [Schema] derives the JSON
//     Schema of a format from the same tags.
//  4. Files are untrusted. Anchors, aliases and tags are refused, because aliases can expand
//     exponentially, and values for which the structs have no field are not visited. Only files
//     that the program itself contains may use aliases.
//  5. Files may hold secrets. No fault of this package repeats a value.
//  6. A suggestion costs a comparison with every valid name, so callers limit how many they ask for
//     in one file.
//
// # How it is tested
//
// With files that have one or several faults, and with a table of misspelled names. The packages that
// read files with it test their formats, and fuzz them.
package strictyaml
