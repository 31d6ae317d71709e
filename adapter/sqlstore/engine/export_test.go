package engine

// LockFile and WaitSeconds are for tests that use databases.
var LockFile = lockFile

const WaitSeconds = waitSeconds
