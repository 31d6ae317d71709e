// Package fastpath answers simple requests on the goroutine that reads their connection, below
// the server of net/http, if their handler can answer at once. A cached reply takes a handler a
// few microseconds, and net/http several times as many: for a goroutine that watches the
// connection, deadlines, copies of headers and two buffers.
//
// # Principles
//
//  1. The handler is the same, with all its middleware: limits, log and metrics see a request
//     whichever way it comes.
//  2. Only what is simple is answered here: a GET of HTTP/1.1 without a body, whose header arrives in
//     one piece and holds nothing unusual (head.go). Everything else is left to net/http, unread. A head
//     is taken only where net/http waits for the next request of a connection and has nothing
//     buffered (conn.go), so that both agree on where requests begin.
//  3. Replies are the same to the byte as through net/http, if the handler sets their length or they are
//     short. They are buffered, so Prepare of a [Server] leaves large ones to net/http.
//  4. Timeouts and the end of the server have the same effect as in net/http. The first request of
//     each connection is left to net/http, as it has a deadline that began before the request.
//
// # How it is tested
//
// A fuzz target compares the parser of heads with net/http's. Tests send the same bytes to a server
// with and without the fast path, in one piece and in several, pipelined and after bodies, and
// compare the replies; others stop the server during a reply, and let connections wait.
package fastpath
