package prompts_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/prompts"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden pins every text to the byte. A golden file ends with a newline
// that the text itself does not have.
func TestGolden(t *testing.T) {
	for _, s := range prompts.Strategies() {
		golden(t, "section_"+string(s), prompts.Section(s))
		golden(t, "instructions_"+string(s), prompts.Instructions(s, []string{"planning", "loop"}))
		golden(t, "instructions_"+string(s)+"_mode", prompts.Instructions(s, nil))
	}
	for name, text := range dataTexts() {
		golden(t, name, text)
	}
	for _, p := range prompts.List() {
		golden(t, "prompt_"+p.Name, render(t, p, nil))
		golden(t, "prompt_"+p.Name+"_goal", render(t, p, map[string]string{"goal": "Add OAuth login to the API"}))
	}
}

// TestDefaultIsReact requires the default to be the react text, so that users without a chosen strategy see no change
// if others are reworded.
func TestDefaultIsReact(t *testing.T) {
	golden(t, "section_react", prompts.Section(prompts.DefaultStrategy))
	for _, s := range []prompts.Strategy{"", "no such strategy", "../section"} {
		golden(t, "section_react", prompts.Section(s))
		golden(t, "instructions_react", prompts.Instructions(s, []string{"planning", "loop"}))
	}
}

// TestGoldenFilesAreUsed finds golden files that belong to no text.
func TestGoldenFilesAreUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := 3*len(prompts.Strategies()) + 2*len(prompts.List()) + len(dataTexts()); len(files) != want {
		t.Errorf("testdata holds %d golden files, the texts need %d: %v", len(files), want, files)
	}
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".md")
	got := text + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it, then read it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func render(t *testing.T, p prompts.Prompt, args map[string]string) string {
	t.Helper()
	text, err := p.Render(args)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	return text
}
