// Package stdio serves one MCP client over a pair of byte streams, one JSON-RPC
// message a line, in both protocol eras: the initialize handshake and the
// stateless 2026-07-28.
//
// It stands in for the library's own stdio loop, which runs pipelined calls out
// of order, lets a few waiting calls stop all others, loses notifications sent
// just before a handler returns, drops what it has read at end of input and
// ignores the filter of subscriptions/listen. Its rules:
//
//   - Requests take effect in the order sent: they run one at a time, in a lane.
//     A handler that is about to wait calls [Yield], and the lane moves on. Only
//     ping, tasks/result and subscriptions/listen run beside the lane.
//   - Cancellations and the client's answers to our own requests are handled as
//     they are read, whatever is running. Reading pauses only when 1024 messages
//     wait in the lane.
//   - One goroutine writes. What a handler sent before it returned is written
//     before its answer; it may be written before the answer to an earlier call.
//   - Every request is answered, also a cancelled one, as the library does: with
//     its result if it had one, else with an error of code -32800.
//
// The package knows the protocol and nothing of plans, workspaces or tools.
package stdio
