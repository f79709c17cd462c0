package exchange

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	checkItem = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX/!~>-]\](?:[ \t]|$)`)
	})
	listOrTop = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:# |[*+] |- |\d{1,9}[.)] )`) })
	topKey    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^["']?([A-Za-z_]+)["']?[ \t]*:(?:[ \t]|$)`) })
)

// shape is what a format is recognised by.
type shape struct {
	members  map[string]jsontext.Value // of JSON: of the object, or of the first one in a list or of lines
	list     bool                      // it is a list of them
	markdown string                    // "" of JSON
}

// Detect tells the format of a plan from the name of its file, with the folders that it stands in
// where they are known, or from what stands in it. filename may be empty.
func Detect(data []byte, filename string) (Format, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	s := shapeOf(data, strings.ToLower(path.Ext(filename)))
	for _, r := range rows() {
		if r.read != nil && r.named(filename) && (r.is == nil || r.is(s)) {
			return r.format, nil
		}
	}
	whole := s.members["plan"].Kind() == jsontext.KindBeginObject && s.members["sessionUpdate"] == nil
	if s.members["objective"] == nil && !whole {
		for _, r := range rows() {
			if r.is != nil && r.is(s) {
				return r.format, nil
			}
		}
	}
	switch strings.ToLower(path.Ext(filename)) {
	case ".md", ".markdown":
		return Markdown, nil
	case ".json":
		return ownOr(JSON, keySet(s.members)), nil
	case ".yaml", ".yml":
		return ownOr(YAML, yamlKeys(data)), nil
	}
	return detectContent(data, s)
}

// shapeOf looks at a text whose file has an ending.
func shapeOf(data []byte, ending string) (s shape) {
	if ending != ".md" && ending != ".markdown" {
		data := bytes.TrimSpace(withoutComments(data))
		if s.list = bytes.HasPrefix(data, []byte("[")); s.list {
			s.members = firstMembers(data)
		} else {
			s.members = membersOf(data)
		}
	}
	if s.members == nil {
		s.markdown = string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	}
	return s
}

func detectContent(data []byte, s shape) (Format, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		if s.members != nil {
			return ownOr(JSON, keySet(s.members)), nil
		}
		return YAML, nil
	}
	if checkItem().Match(data) {
		return Markdown, nil
	}
	if keys := yamlKeys(data); keys["plan"] || keys["steps"] || keys["objective"] || keys["task"] {
		return ownOr(YAML, keys), nil
	}
	if listOrTop().Match(data) {
		return Markdown, nil
	}
	return "", refuse("/format", "the format cannot be recognised from the text", "name it: "+strings.Join(Readable("").Values(), ", "))
}

// ownOr returns own, or the format that alone has such keys.
func ownOr(own Format, keys map[string]bool) Format {
	switch {
	case keys["objective"], keys["plan"]:
		return own
	case keys["task"]:
		return RawkoYAML
	case own == JSON && keys["steps"]:
		return Execution
	}
	return own
}

func yamlKeys(data []byte) map[string]bool {
	keys := map[string]bool{}
	for _, m := range topKey().FindAllSubmatch(data, -1) {
		keys[string(m[1])] = true
	}
	return keys
}

// jsonKeys returns the keys of a JSON object, nil when data is none.
func jsonKeys(data []byte) map[string]bool { return keySet(membersOf(data)) }

func keySet(members map[string]jsontext.Value) map[string]bool {
	if members == nil {
		return nil
	}
	keys := make(map[string]bool, len(members))
	for key := range members {
		keys[key] = true
	}
	return keys
}

// membersOf returns the members of a JSON object, or of the first of several, nil when data is none.
func membersOf(data []byte) map[string]jsontext.Value {
	in := jsontext.NewDecoder(bytes.NewReader(data))
	if token, err := in.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return nil
	}
	members := map[string]jsontext.Value{}
	for in.PeekKind() != jsontext.KindEndObject {
		token, err := in.ReadToken()
		if err != nil {
			return nil
		}
		key := token.String()
		value, err := in.ReadValue()
		if err != nil {
			return nil
		}
		members[key] = value.Clone()
	}
	return members
}

// firstMembers returns the members of the first object of a JSON list, nil when it has none.
func firstMembers(data []byte) map[string]jsontext.Value {
	in := jsontext.NewDecoder(bytes.NewReader(data))
	if token, err := in.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginArray {
		return nil
	}
	first, err := in.ReadValue()
	if err != nil {
		return nil
	}
	return membersOf(first)
}
