package downstream

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"

	strictjson "github.com/go-json-experiment/json"
)

// maxFrame is how long a message from a server may be, and maxSkipped how much of a longer
// one is read before the server is given up.
const (
	maxFrame   = 4 << 20
	maxSkipped = 256 << 20
)

// message is a JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitzero"`
	Method  string          `json:"method,omitzero"`
	Params  json.RawMessage `json:"params,omitzero"`
	Result  json.RawMessage `json:"result,omitzero"`
	Error   *fault          `json:"error,omitzero"`
}

// fault is the error of an answer.
type fault struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitzero"`
}

const (
	methodNotFound = -32601
	invalidParams  = -32602
)

func encode(m message) []byte {
	m.JSONRPC = "2.0"
	frame, err := strictjson.Marshal(m)
	if err != nil { // it was made of what was decoded, or by us
		frame = []byte(`{"jsonrpc":"2.0","method":"notifications/message"}`)
	}
	return frame
}

func decode(frame []byte) (message, error) {
	var m message
	err := strictjson.Unmarshal(frame, &m)
	if string(m.ID) == "null" {
		m.ID = nil
	}
	return m, err
}

// number returns the id of one of our requests.
func number(id json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(bytes.Trim(id, `"`)), 10, 64)
	return n, err == nil
}

// idOf finds the id in the beginning and the end of a message that could not be read.
func idOf(head, end []byte) (int64, bool) {
	const id = `"id"\s*:\s*(\d{1,18})\s*`
	if found := regexp.MustCompile(`^\s*\{[^{}\[\]]*?` + id + `,`).FindSubmatch(head); found != nil {
		return number(found[1])
	}
	last := regexp.MustCompile(`[}\]]\s*,[^{}\[\]]*?` + id + `(,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
	if found := last.FindSubmatch(end); found != nil {
		return number(found[1])
	}
	return 0, false
}

// frames splits what a server prints into lines, and hands on those that are not too long.
type frames struct {
	whole func(frame []byte)     // a line; it is not kept
	long  func(head, end []byte) // the beginning and the end of one that was too long
	ended func()                 // one goes on and on
	line  []byte
	head  []byte // of a line that is skipped, whose end line holds
	past  int    // bytes of it
}

const kept = 4 << 10 // of each end of a line that is skipped

// Write never fails.
func (f *frames) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		f.add(part)
		if rest = after; whole {
			f.end()
		}
	}
	return len(data), nil
}

func (f *frames) add(part []byte) {
	if f.past == 0 && len(f.line)+len(part) <= maxFrame {
		f.line = append(f.line, part...)
		return
	}
	if f.past == 0 { // of this line no more than its ends are kept from here on
		f.past = len(f.line)
		f.head = append(f.head, f.line[:min(len(f.line), kept)]...)
		f.head = append(f.head, part[:min(len(part), kept-len(f.head))]...)
		f.line = bytes.Clone(f.line[max(0, len(f.line)-kept):])
	}
	if f.past += len(part); f.past >= maxSkipped && f.past-len(part) < maxSkipped {
		f.ended()
	}
	part = part[max(0, len(part)-kept):]
	before := min(len(f.line), kept-len(part))
	copy(f.line, f.line[len(f.line)-before:])
	f.line = append(f.line[:before], part...)
}

// end hands on a line that is complete.
func (f *frames) end() {
	switch {
	case f.past > 0:
		f.long(f.head, f.line)
	case len(bytes.TrimSpace(f.line)) > 0:
		f.whole(f.line)
	}
	if cap(f.line) > 64<<10 {
		f.line = nil
	}
	f.line, f.head, f.past = f.line[:0], nil, 0
}
