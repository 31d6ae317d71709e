package main

// version is set when a release is built.
var version = "dev"

func main() { Main(WithVersion(version)) }
