package web

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safefile"
)

// TestUnsentTextsAreStored: another browser of the same person gets them, the last change of a field counts, and the end of the plan
// removes them.
func TestUnsentTextsAreStored(t *testing.T) {
	f := serve(t, nil)
	folder := t.TempDir()
	f.workspaces.sheets["w1"].Unsent = folder
	f.submit("w1")
	b := f.launch()
	keep := func(b *browser, texts ...string) reply {
		changed := []map[string]string{}
		for i := 0; i < len(texts); i += 2 {
			changed = append(changed, map[string]string{"field": texts[i], "text": texts[i+1]})
		}
		return b.post("/api/keep", map[string]any{"workspace": "w1", "texts": changed})
	}
	stored := func(b *browser) map[string]string {
		var told struct{ Texts []review.UnsentText }
		b.get("/api/unsent?workspace=w1").into(t, &told)
		texts := map[string]string{}
		for _, one := range told.Texts {
			texts[one.Field] = one.Text
		}
		return texts
	}
	hostile := "<script>\u202e\x1b[2J &amp;\n"
	for _, texts := range [][]string{{"decision", "Smaller", "task", "x"}, {"answer:Why?", hostile, "decision", "Smaller, please"},
		{"task", ""}} {
		if answer := keep(b, texts...); answer.status != http.StatusOK {
			t.Fatal(answer.body)
		}
	}
	want := map[string]string{"decision": "Smaller, please", "answer:Why?": hostile}
	if got := stored(f.launch()); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	info, err := entries[0].Info()
	if err != nil || !safefile.UserOnly(info.Mode().Perm()) {
		t.Errorf("%v %v", info.Mode(), err)
	}
	long := keep(b, "comment-0", strings.Repeat("x", 256<<10))
	if told := long.refusal(t); long.status != http.StatusUnprocessableEntity || !strings.Contains(told.Problem, "256 KB") {
		t.Errorf("%d %+v", long.status, told)
	}
	if got := stored(b); !reflect.DeepEqual(got, want) {
		t.Errorf("after a refusal: %q", got)
	}
	if err := os.WriteFile(filepath.Join(folder, entries[0].Name()), []byte(`{"plans":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := stored(b); len(got) > 0 {
		t.Errorf("a damaged file has %q", got)
	}
	keep(b, "decision", "No")
	b.typeCode()
	if answer := b.act("w1", "reject", decision(b.view("w1"))); answer.status != http.StatusOK {
		t.Fatal(answer.body)
	}
	if got := stored(b); len(got) > 0 {
		t.Errorf("after the end of the plan: %q", got)
	}
	if entries, _ := os.ReadDir(folder); len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
}

// TestUnsentTextsAreTheWritersOwn: a session that only looks, and another person, get and change nothing.
func TestUnsentTextsAreTheWritersOwn(t *testing.T) {
	f := serve(t, func(o *Options) { o.ViewAccess.Anyone = true })
	w1 := f.workspaces.sheets["w1"]
	w1.Unsent = t.TempDir()
	b := f.launch()
	body := map[string]any{"workspace": "w1", "texts": []any{map[string]any{"field": "task", "text": "Secret"}}}
	if answer := b.post("/api/keep", body); answer.status != http.StatusOK {
		t.Fatal(answer.body)
	}
	looks := f.enter(`{}`)
	for _, refused := range []reply{looks.post("/api/keep", body), looks.get("/api/unsent?workspace=w1")} {
		told := refused.refusal(t)
		if refused.status != http.StatusForbidden || told.Kind != forbidden || strings.Contains(refused.body, "Secret") {
			t.Errorf("%d %s", refused.status, refused.body)
		}
	}
	if texts, err := review.ReadUnsent(t.Context(), w1, "bob"); err != nil || len(texts) > 0 {
		t.Errorf("%v %v", texts, err)
	}
	body["workspace"] = "w2" // which stores none, as with --ephemeral
	if answer := b.post("/api/keep", body); answer.status != http.StatusNotFound {
		t.Errorf("%d %s", answer.status, answer.body)
	}
	if answer := b.get("/api/unsent?workspace=w2"); answer.body != `{"texts":[]}` {
		t.Errorf("%d %s", answer.status, answer.body)
	}
	f.submit("w1") // a task that was typed before there was a plan is kept
	if texts, err := review.ReadUnsent(t.Context(), w1, "alice"); err != nil || len(texts) != 1 {
		t.Errorf("%v %v", texts, err)
	}
}
