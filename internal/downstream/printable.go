package downstream

import (
	"bytes"
	"encoding/json"

	strictjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safetext"
)

// part is one part of a result, printable.
func part(raw json.RawMessage) Content {
	one := Content{JSON: printable(raw)}
	var kind struct {
		Type string `json:"type"`
	}
	if strictjson.Unmarshal(one.JSON, &kind) == nil {
		one.Type = kind.Type
	}
	one.Text, _ = textOf(one.JSON)
	return one
}

// textOf returns the text of a part that is one.
func textOf(raw json.RawMessage) (string, bool) {
	var text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	err := strictjson.Unmarshal(raw, &text)
	return text.Text, err == nil && text.Type == "text"
}

// printable returns JSON with what no text should hold escaped in all its strings, as
// safetext.Escape writes it.
func printable(raw json.RawMessage) json.RawMessage {
	if plain(raw) {
		return raw
	}
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(raw))
	to := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true)) // two names may come to be written alike
	for {
		token, err := in.ReadToken()
		if err != nil {
			return bytes.TrimSpace(out.Bytes())
		}
		if token.Kind() == '"' {
			token = jsontext.String(safetext.Escape(safetext.Newlines(token.String())))
		}
		if to.WriteToken(token) != nil {
			return json.RawMessage("null")
		}
	}
}

// plain reports whether the strings of a JSON text hold nothing but what it shows itself.
func plain(raw json.RawMessage) bool {
	return !bytes.Contains(raw, []byte(`\u`)) && !bytes.Contains(raw, []byte(`\b`)) && !bytes.Contains(raw, []byte(`\f`)) &&
		!bytes.Contains(raw, []byte(`\r`)) && safetext.Printable(string(raw))
}
