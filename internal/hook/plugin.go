package hook

import (
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

//go:embed opencode/planloop.js
var opencodePlugin string

// OpencodePlugin is the text of the file that makes opencode call the hooks of a planloop: planloop.js
// in the folder plugins of a configuration, for opencode 1 and 2. It needs nothing that is not there.
func OpencodePlugin(program string) string {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(program, "\uFFFD"))
	return strings.Replace(opencodePlugin, `"PLANLOOP"`, string(quoted), 1)
}
