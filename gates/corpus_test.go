package gates

import (
	"os"
	"strings"
	"testing"
)

func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// heuristics are the gates that judge a title by its words.
func heuristics(title string) []string {
	var names []string
	if secondTask(title) != "" {
		names = append(names, "single_responsibility")
	}
	if vague(title) {
		names = append(names, "vague_outcome")
	}
	return names
}

// rates counts the heuristics' errors on a corpus: warnings about good titles, and bad titles that pass.
func rates(t *testing.T, good, bad string) (falseAlarms, missed, goods, bads int) {
	t.Helper()
	for _, title := range lines(t, good) {
		goods++
		if names := heuristics(title); len(names) > 0 {
			falseAlarms++
			t.Logf("good, but %v: %s", names, title)
		}
	}
	for _, line := range lines(t, bad) {
		bads++
		gate, title, _ := strings.Cut(line, ": ")
		if !strings.Contains(strings.Join(heuristics(title), " "), gate) {
			missed++
			t.Logf("missed by %s: %s", gate, title)
		}
	}
	t.Logf("%d of %d good titles warned about, %d of %d bad ones missed", falseAlarms, goods, missed, bads)
	return falseAlarms, missed, goods, bads
}

// TestTitles checks the heuristics on the corpus they were made with: no good title is warned about, no bad one passes.
func TestTitles(t *testing.T) {
	falseAlarms, missed, goods, bads := rates(t, "testdata/good-titles.txt", "testdata/bad-titles.txt")
	if falseAlarms != 0 || missed != 0 || goods < 60 || bads < 60 {
		t.Errorf("%d false alarms in %d, %d missed of %d", falseAlarms, goods, missed, bads)
	}
}

// TestHeldOutTitles measures titles the heuristics were not made with. At first they warned about 2 of 40 good ones and
// missed 5 of 40 bad ones; two faults found this way have been fixed. The bounds may only be lowered.
func TestHeldOutTitles(t *testing.T) {
	falseAlarms, missed, goods, bads := rates(t, "testdata/held-out-good-titles.txt", "testdata/held-out-bad-titles.txt")
	if falseAlarms > 2 || missed > 2 || goods < 40 || bads < 40 {
		t.Errorf("%d false alarms in %d, %d missed of %d", falseAlarms, goods, missed, bads)
	}
}
