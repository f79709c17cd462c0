package exchange

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Format is a way to write a plan down.
type Format string

// The formats.
const (
	JSON      Format = "json"       // as plan://current serves it, or a plan alone
	YAML      Format = "yaml"       // the same as YAML
	Markdown  Format = "markdown"   // a check list
	RawkoYAML Format = "rawko-yaml" // a plan file of rawko
)

// Values lists the formats in order.
func (Format) Values() []string { return []string{"json", "yaml", "markdown", "rawko-yaml"} }

var (
	checkItem = regexp.MustCompile(`(?m)^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX/!~>-]\](?:[ \t]|$)`)
	listOrTop = regexp.MustCompile(`(?m)^(?:# |[*+] |- |\d{1,9}[.)] )`)
	topKey    = regexp.MustCompile(`(?m)^["']?([A-Za-z_]+)["']?[ \t]*:(?:[ \t]|$)`)
)

// Detect tells the format of a plan from the name of its file, or from what
// stands in it. filename may be empty.
func Detect(data []byte, filename string) (Format, error) {
	switch strings.ToLower(path.Ext(filename)) {
	case ".md", ".markdown":
		return Markdown, nil
	case ".json":
		return ownOr(RawkoYAML, JSON, jsonKeys(data)), nil
	case ".yaml", ".yml":
		return ownOr(RawkoYAML, YAML, yamlKeys(data)), nil
	}
	return detectContent(data)
}

func detectContent(data []byte) (Format, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	trimmed := bytes.TrimSpace(data)
	if bytes.HasPrefix(trimmed, []byte("{")) {
		if keys := jsonKeys(trimmed); keys != nil {
			return ownOr(RawkoYAML, JSON, keys), nil
		}
		return YAML, nil
	}
	if checkItem.Match(data) {
		return Markdown, nil
	}
	if keys := yamlKeys(data); keys["plan"] || keys["steps"] || keys["objective"] || keys["task"] {
		return ownOr(RawkoYAML, YAML, keys), nil
	}
	if listOrTop.Match(data) {
		return Markdown, nil
	}
	return "", refuse("/format", "the format cannot be told from the text", "name it: "+strings.Join(Format("").Values(), ", "))
}

// ownOr chooses between rawko's fields and ours.
func ownOr(foreign, own Format, keys map[string]bool) Format {
	if keys["task"] && !keys["objective"] && !keys["plan"] {
		return foreign
	}
	return own
}

func yamlKeys(data []byte) map[string]bool {
	keys := map[string]bool{}
	for _, m := range topKey.FindAllSubmatch(data, -1) {
		keys[string(m[1])] = true
	}
	return keys
}

// jsonKeys returns the keys of a JSON object, nil when data is none.
func jsonKeys(data []byte) map[string]bool {
	in := jsontext.NewDecoder(bytes.NewReader(data))
	if token, err := in.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return nil
	}
	keys := map[string]bool{}
	for in.PeekKind() != jsontext.KindEndObject {
		key, err := in.ReadToken()
		if err != nil {
			return nil
		}
		keys[key.String()] = true
		if err := in.SkipValue(); err != nil {
			return nil
		}
	}
	return keys
}
