package hook

import (
	"strings"
	"testing"
)

func TestOpencodePluginStartsThisProgram(t *testing.T) {
	text := OpencodePlugin(`C:\Program Files\"plan"loop.exe`)
	want := `const program = "C:\\Program Files\\\"plan\"loop.exe" //`
	if !strings.Contains(text, want) || strings.Contains(text, "PLANLOOP") {
		t.Errorf("%s is not in\n%s", want, text)
	}
	for _, event := range Events(Opencode) {
		if !strings.Contains(text, `"`+event.Name+`"`) {
			t.Errorf("the plugin never calls %s", event.Name)
		}
	}
}
