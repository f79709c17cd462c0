package transport

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// What an error may say: the library's repeat what a client has sent.
const (
	maxErrorText = 480 // characters
	maxErrorData = 500 // bytes
)

// Clean returns encoded output as it may leave: the text of a JSON-RPC error is short, on
// one line, and without characters that control, hide or reorder. Each transport sends all
// it sends through it. What stands around the message, such as an event's name, stays.
func Clean(out []byte) []byte {
	begin, end := bytes.IndexByte(out, '{'), bytes.LastIndexByte(out, '}')+1
	if begin < 0 || begin >= end || !bytes.Contains(out, []byte(`"error":{`)) {
		return out
	}
	var m struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   *struct {
			Code    int            `json:"code"`
			Message string         `json:"message"`
			Data    jsontext.Value `json:"data,omitzero"`
		} `json:"error"`
	}
	if json.Unmarshal(out[begin:end], &m) != nil || m.Error == nil {
		return out
	}
	m.Error.Message = CleanText(m.Error.Message)
	if data := m.Error.Data; len(data) > maxErrorData || bytes.ContainsRune(data, '\\') || !safetext.PrintableLine(string(data)) {
		m.Error.Data = nil
	}
	clean, err := json.Marshal(m)
	if err != nil {
		return out
	}
	return slices.Concat(out[:begin], safetext.EscapeJSON(clean), out[end:])
}

// CleanText is an error's text as it may leave.
func CleanText(text string) string { return plan.Shorten(safetext.Line(text), maxErrorText) }
