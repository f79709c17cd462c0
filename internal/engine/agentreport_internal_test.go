package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

const testNonce = "K7QM4TZN"

const good = `{"planloop":"K7QM4TZN","status":"done","output":"x","affected_files":["a"],"note":"y"}`

// quoted returns a text as a JSON string.
func quoted(t testing.TB, text string) string {
	t.Helper()
	data := testenv.Must(json.Marshal(text))(t)
	return string(data)
}

// reported returns the last report in an output.
func reported(output string) (last *AgentReport) {
	r := reportReader{nonce: testNonce, searchStrings: true}
	for line := range strings.SplitSeq(output, "\n") {
		if report := r.readLine([]byte(line)); report != nil {
			last = report
		}
	}
	return last
}

// TestUnreadableReportsAreExplained: a status that is not done is a report, and another one that cannot be read is explained.
func TestUnreadableReportsAreExplained(t *testing.T) {
	line := func(status string) string { return strings.Replace(good, `"done"`, quoted(t, status), 1) }
	for _, status := range []string{"not done", "NOT_DONE", "incomplete", "unfinished", "not completed.", "Not yet done!",
		"partially done", "unsuccessful", "skipped", "cancelled"} {
		if got := reported(line(status)); got == nil || got.Status != plan.Failed || got.Note != "y" {
			t.Errorf("%q: %+v", status, got)
		}
	}
	for output, want := range map[string]string{
		line("so far so good"): `status is "so far so good"`,
		line("in_progress"):    `status is "in_progress"`,
		strings.Replace(good, `"output":"x"`, `"output":x`, 1):                         "is not valid",
		`{"planloop":"K7QM4TZN",` + "\n" + strings.Repeat(`"more lines":1,`+"\n", 300): "200 lines",
		`{"type":"result","text":` + quoted(t, line("fine?")) + `}`:                    `status is "fine?"`,
		line("fine?") + "\n" + good:                                                    "",
		line("done|failed|blocked"):                                                    "", "done": "",
		strings.Replace(line("fine?"), testNonce, "OTHER", 1): "",
	} {
		r := reportReader{nonce: testNonce, searchStrings: true}
		for text := range strings.SplitSeq(output, "\n") {
			r.readLine([]byte(text))
		}
		if (r.unread == "") != (want == "") || !strings.Contains(r.unread, want) {
			t.Errorf("%.80s: %q, not %q", output, r.unread, want)
		}
	}
	if got := reported(strings.Replace(good, `"note"`, `"tokens":1234,"note"`, 1)); got == nil || got.Tokens != 1234 {
		t.Errorf("tokens: %+v", got)
	}
}

// spellings are outputs with the decorations of hosts in which the report must be found.
func spellings(t testing.TB) map[string]string {
	const pretty = "{\n  \"planloop\": \"K7QM4TZN\",\n  \"status\": \"done\",\n  \"output\": \"x\",\n  \"affected_files\": [\n    \"a\"\n" +
		"  ],\n  \"note\": \"y\"\n}"
	event := `{"type":"result","n":1,"message":{"content":[{"type":"text","text":` + quoted(t, "All done.\n\n"+good) + `}]},"cost":0.1}`
	return map[string]string{
		"plain": good, "at the end": "first\n" + good, "not at the end": good + "\nbye", "indented": "    " + good + "  ",
		"CRLF": "x\r\n" + good + "\r", "over another line": "working 99%\r" + good, "a tab": "\t" + good,
		"in back-quotes": "`" + good + "`", "fenced": "```json\n" + good + "\n```", "fenced in one line": "```json " + good + " ```",
		"fenced without a language": "```\n" + good + "\n```", "bold": "**" + good + "**",
		"coloured": "\x1b[32m" + good + "\x1b[0m", "coloured within": strings.Replace(good, `"status"`, "\x1b[1m\"status\"\x1b[22m", 1),
		"cleared": "\x1b[2K\x1b[1G" + good + "\x1b[?25h", "a title before": "\x1b]0;codex\x07" + good,
		"quoted": "> " + good, "a bullet": "- " + good, "another bullet": "• " + good, "a dot": "⏺ " + good,
		"in a frame": "│ " + good + " │",
		"a bar":      "┃  " + good, "an arrow": "→ " + good, "a time": "[2026-11-22T18:00:00] " + good,
		"a byte order mark":           "\ufeff" + good,
		"after a text without an end": "some wo" + good, "after dots": "Working..." + good, "after 99": "99" + good,
		"spaced":   `{ "planloop" : "K7QM4TZN" , "status" : "done" , "output" : "x" , "affected_files" : [ "a" ] , "note" : "y" }`,
		"in order": `{"note":"y","affected_files":["a"],"output":"x","status":"done","planloop":"K7QM4TZN"}`,
		"on lines": pretty, "on lines, fenced": "So:\n```json\n" + pretty + "\n```\n",
		"on lines, quoted":                  "> " + strings.ReplaceAll(pretty, "\n", "\n> "),
		"on lines, after another beginning": "func main() {\n{\n" + pretty,
		"broken by the width":               good[:30] + "\n" + good[30:60] + "\n" + good[60:],
		"an event":                          event, "an event, and another": event + "\n" + `{"type":"end"}`,
		"an event, indented":      "{\n  \"response\": " + quoted(t, "Done.\n"+good) + ",\n  \"stats\": {}\n}",
		"an event, text on lines": `{"text":` + quoted(t, "```json\n"+pretty+"\n```") + `}`,
		"an event of a server":    "data: " + event,
		"more said":               strings.Replace(good, `{`, `{"summary":{"a":[1]},`, 1),
		"another word for done":   strings.Replace(good, `"done"`, `"Completed"`, 1),
		"one file":                strings.Replace(good, `["a"]`, `"a"`, 1),
		"a second one counts":     strings.Replace(good, "done", "failed", 1) + "\n" + good,
		"what is none comes last": good + "\n" + strings.Replace(good, "done", "done|failed|blocked", 1) +
			"\n" + `{"planloop":"other","status":"failed"}`,
	}
}

func TestReportIsFoundInEachSpelling(t *testing.T) {
	for name, output := range spellings(t) {
		got := reported(output)
		if got == nil {
			t.Errorf("%s: none found in\n%s", name, output)
			continue
		}
		if got.Status != plan.Done || got.Output != "x" || got.Note != "y" || !slices.Equal(got.AffectedFiles, []string{"a"}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestReportOfAnotherAttemptIsNoticed in each spelling, and does not count.
func TestReportOfAnotherAttemptIsNoticed(t *testing.T) {
	for name, output := range spellings(t) {
		r := reportReader{nonce: testNonce, searchStrings: true}
		for line := range strings.SplitSeq(strings.ReplaceAll(output, testNonce, "OTHERONE"), "\n") {
			if report := r.readLine([]byte(line)); report != nil {
				t.Errorf("%s: %+v", name, report)
			}
		}
		if !r.otherNonce {
			t.Errorf("%s: not noticed", name)
		}
	}
}

func TestWhatIsNoReport(t *testing.T) {
	sample := `{"planloop":"K7QM4TZN","status":"done|failed|blocked","output":"...","affected_files":[...],"note":"..."}`
	for name, output := range map[string]string{
		"nothing": "", "the sample of the prompt": sample, "the sample in an event": `{"text":` + quoted(t, "report:\n"+sample) + `}`,
		"another nonce":     strings.Replace(good, testNonce, "OTHER", 1),
		"no nonce":          `{"status":"done"}`,
		"the nonce in text": `{"planloop":"x","status":"done","note":"K7QM4TZN"}`,
		"a part of it":      strings.Replace(good, testNonce, testNonce+"x", 1),
		"another status":    strings.Replace(good, "done", "in_progress", 1),
		"no status":         `{"planloop":"K7QM4TZN"}`,
		"in a sentence":     "I will print " + good + " when I am done",
		"announced":         "I end with: " + good,
		"assigned":          "report=" + good,
		"an argument":       "echo '" + good + "'",
		"quoted in prose":   `He said "` + good + `"`,
		"cut":               good[:len(good)-1],
		"a list":            "[" + good + "]",
		"two of one name":   strings.Replace(good, `"status":"done"`, `"status":"failed","status":"done"`, 1),
		"other case":        strings.Replace(good, `"planloop"`, `"Planloop"`, 1),
		"within another":    `{"report":` + good + `}`,
		"a command":         `{"command":` + quoted(t, "echo '"+good+"'") + `}`,
		"far apart":         good[:30] + "\n" + strings.Repeat("x\n", 1000) + good[30:],
	} {
		if got := reported(output); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhatAReportSays(t *testing.T) {
	for given, want := range map[string]AgentReport{ // by the text after the nonce
		`"status":"blocked"`: {Status: plan.Blocked},
		`"status":"failed","output":null,"affected_files":null,"note":null`: {Status: plan.Failed},
		`"status":"done","output":{"a": [1]},"affected_files":[],"note":7`:  {Status: plan.Done, Output: `{"a": [1]}`, Note: "7"},
		`"status":"done","output":"a\nb\u00e9"`:                             {Status: plan.Done, Output: "a\nbé"},
		`"status":"done","affected_files":["x y","../z"]`:                   {Status: plan.Done, AffectedFiles: []string{"x y", "../z"}},
		`"status":"done","affected_files":[1]`:                              {Status: plan.Done, AffectedFiles: []string{"[1]"}},
	} {
		got := reported(`{"planloop":"K7QM4TZN",` + given + `}`)
		if got == nil || got.Status != want.Status || got.Output != want.Output || got.Note != want.Note ||
			!slices.Equal(got.AffectedFiles, want.AffectedFiles) {
			t.Errorf("%s: %+v", given, got)
		}
	}
}

// Without a nonce no report is found.
func TestNoNonce(t *testing.T) {
	r := reportReader{searchStrings: true}
	if got := r.readLine([]byte(`{"planloop":"","status":"done"}`)); got != nil {
		t.Error(got)
	}
}

// For any output, reading ends, and a found report has the nonce and one of three statuses.
func FuzzReport(f *testing.F) {
	for _, output := range spellings(f) {
		f.Add(output)
	}
	f.Fuzz(func(t *testing.T, output string) {
		r := reportReader{nonce: testNonce, searchStrings: true}
		for line := range strings.SplitSeq(output, "\n") {
			_ = r.peek([]byte(line))
			report := r.readLine([]byte(line))
			if report == nil {
				continue
			}
			known := slices.Contains([]plan.StepStatus{plan.Done, plan.Failed, plan.Blocked}, report.Status)
			if !strings.Contains(output, testNonce) || !known {
				t.Errorf("%q: %+v", line, report)
			}
		}
		if got := reported(output + "\n" + good); got == nil || got.Output != "x" {
			t.Errorf("what was before a report hides it: %+v", got)
		}
		_ = readableLine([]byte(output))
	})
}

func TestShown(t *testing.T) {
	for line, want := range map[string]string{
		"plain":                     "plain",
		"\x1b[31mred\x1b[0m  text ": "red text",
		"10%\r20%\r30%":             "30%",
		`{"type":"a","text":"I look at the tests.\nThen I run them.","id":"x-y-z-a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q"}`: "Then I run them.",
		`{"type":"a"}`:    `{"type":"a"}`,
		"evil\u202etext":  "eviltext",
		"{not quite json": "{not quite json",
	} {
		if got := readableLine([]byte(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func BenchmarkNextEvent(b *testing.B) {
	line := []byte(`{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":` +
		quoted(b, strings.Repeat("some words of a model. ", 40)) + `}}`)
	r := reportReader{nonce: testNonce, searchStrings: true}
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if r.readLine(line) != nil {
			b.Fatal(string(line))
		}
	}
}
