// Package demotest provides tests with databases, and adapters in memory, that contain the demo
// store.
//
// # Principles
//
//  1. A test binary loads the demo store once per database engine, and once into memory. Every test
//     gets a copy, which is deleted when the test ends.
//  2. Tests must not change the data set that [Data] returns. A test that changes records gets its
//     own data set from [dataset.Load].
//
// # How it is tested
//
// By the tests that use it.
package demotest
