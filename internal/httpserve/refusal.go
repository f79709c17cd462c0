package httpserve

import (
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// refuse answers a request that does not reach the protocol. The text says
// what was wrong and what is accepted, and never repeats what was sent.
func refuse(w http.ResponseWriter, status int, text string) {
	writeError(w, status, nil, mcp.INVALID_REQUEST, text)
}

// writeError answers with a JSON-RPC error, which MCP clients show in full. An
// id that is not known is null.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, code int, text string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_, _ = w.Write(errorMessage(id, code, text, nil))
}

func errorMessage(id json.RawMessage, code int, text string, data any) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	type details struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	encoded, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   details         `json:"error"`
	}{mcp.JSONRPC_VERSION, id, details{code, text, data}})
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the answer could not be encoded"}}`)
	}
	return encoded
}
