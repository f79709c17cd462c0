package hook

import (
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

//go:embed opencode/planloop.js
var opencodePlugin string

// OpencodePlugin returns the text of the plugin that makes opencode call the hooks of a planloop program: planloop.js in the folder plugins
// of a configuration, for opencode 1 and 2. It has no dependencies.
func OpencodePlugin(program string) string {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(program, "\uFFFD"))
	return strings.Replace(opencodePlugin, `"PLANLOOP"`, string(quoted), 1)
}
