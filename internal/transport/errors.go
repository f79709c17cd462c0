package transport

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Bounds of error texts: the library's repeat the client's input.
const (
	maxErrorText = 480 // characters
	maxErrorData = 500 // bytes
)

// Clean returns encoded output in the form that may be sent: the text of a JSON-RPC error is short, on one line, and
// without characters that control, hide or reorder text. Each transport sends all output through it. Text around the
// message, such as an event's name, is unchanged.
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

// CleanText returns an error's text in the form that may be sent.
func CleanText(text string) string { return plan.Shorten(safetext.Line(text), maxErrorText) }
