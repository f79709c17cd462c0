package httpserve

import (
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// isModern tells which era a message belongs to, by the library's own rule:
// the body or the header names the stateless protocol.
func isModern(r *http.Request, msg message) bool {
	return mcp.IsModernProtocol(msg.metaVersion) || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
}

// answeredHere tells whether a message of the stateless protocol must not
// reach the library. Two of its limits are met here:
//
//   - It keys running requests by session and request id, and on the stateless
//     protocol the session is empty: one client could cancel another's
//     request. Closing the connection still cancels, as the protocol has it.
//   - It answers 400 to a notification without _meta, upon which the official
//     Go client gives up its session.
//
// The body's method decides, never a header.
func answeredHere(msg message) bool {
	if !msg.isNotification() {
		return false
	}
	return msg.method == string(mcp.MethodNotificationCancelled) || msg.metaVersion == ""
}
