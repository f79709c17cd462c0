package downstream

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/toolbox"
)

// TestOutputMustMatchItsSchema: a result that breaks its tool's own schema is explained; without a schema anything fits.
func TestOutputMustMatchItsSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for value, want := range map[string]string{`{"n":1}`: "", `{"n":"one"}`: "/n", `{}`: "n", `"text"`: "object"} {
		tool := toolbox.RemoteTool{Tool: toolbox.Tool{Output: schema}}
		got := outputProblem(tool, toolbox.Outcome{OK: true, Value: json.RawMessage(value)})
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", value, got, want)
		}
		if tool.Output = nil; outputProblem(tool, toolbox.Outcome{OK: true, Value: json.RawMessage(value)}) != "" {
			t.Errorf("%s: refused without a schema", value)
		}
	}
}
