package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// mailbox accepts every request and keeps the last body.
type mailbox struct{ body []byte }

func (m *mailbox) RoundTrip(r *http.Request) (*http.Response, error) {
	m.body, _ = io.ReadAll(r.Body)
	return &http.Response{StatusCode: 204, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// sent returns the body of a notice.
func sent(t testenv.Ender, notice notify.Notice) []byte {
	var box mailbox
	n := testenv.Must(notify.New(notify.Config{Webhook: hook}, notify.Options{HTTPClient: &http.Client{Transport: &box}}))(t)
	n.Notify(notice)
	testenv.Check(t, n.Close(context.Background()))
	return box.body
}

func TestBodies(t *testing.T) {
	question := notify.Notice{Event: "question_waits", Workspace: `C:\Users\ann\shop\`, Title: "Which\ndatabase?"}
	entered := notify.Notice{Event: "mode_entered", Title: "too many unknowns", Text: "I'd like to plan this out before proceeding."}
	for name, notice := range map[string]notify.Notice{"plan": aPlan(), "question": question, "entered": entered, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			body := regexp.MustCompile(`"id":"[A-Z2-7]{26}"`).ReplaceAll(sent(t, notice), []byte(`"id":"ID"`))
			body = regexp.MustCompile(`"time":"20[-0-9]{8}T[0-9:]{8}Z"`).ReplaceAll(body, []byte(`"time":"TIME"`))
			var pretty bytes.Buffer
			testenv.Check(t, json.Indent(&pretty, body, "", "  "))
			pretty.WriteByte('\n')
			path := filepath.Join("testdata", name+".json")
			if *update {
				testenv.Check(t, os.WriteFile(path, pretty.Bytes(), 0o644))
			}
			want := testenv.Must(os.ReadFile(path))(t)
			if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// aNotice draws notices of all lengths, with text that chat services or terminals interpret.
func aNotice() *rapid.Generator[notify.Notice] {
	text := rapid.Custom(func(t *rapid.T) string {
		piece := rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{"@everyone", "<@1>", "<!channel>", "<https://evil.test|Approve>", "[a](https://evil.test)",
				"](", "\n# ", "\u202e", "\x1b[2J", "\xff", strings.Repeat("x", 300), strings.Repeat("🔴", 1600)}))
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	})
	step := rapid.Custom(func(t *rapid.T) notify.Step {
		return notify.Step{ID: text.Draw(t, "id"), Title: text.Draw(t, "title"),
			Risk: rapid.SampledFrom([]string{"", "low", "medium", "high", "@here"}).Draw(t, "risk")}
	})
	return rapid.Custom(func(t *rapid.T) notify.Notice {
		return notify.Notice{
			Event:     rapid.SampledFrom([]string{"plan_waits", "question_waits", "mode_expired", "other"}).Draw(t, "event"),
			Workspace: text.Draw(t, "workspace"), Title: text.Draw(t, "title"), Text: text.Draw(t, "text"),
			PlanID: text.Draw(t, "plan"), Steps: rapid.SliceOfN(step, 0, 150).Draw(t, "steps"),
			Questions: rapid.SliceOfN(text, 0, 30).Draw(t, "questions"),
		}
	})
}

// TestChatServicesAcceptBodies checks that the sentence fits Discord's limit, is one printable
// line, and contains no mention or link text; and that the rest is bounded.
func TestChatServicesAcceptBodies(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		notice := aNotice().Draw(t, "notice")
		raw := sent(t, notice)
		var b struct {
			Content, Text, Title, Details string
			Mentions                      *struct{ Parse []string } `json:"allowed_mentions"`
			Steps                         []notify.Step
			StepCount                     int `json:"step_count"`
			Questions                     []string
		}
		if err := json.Unmarshal(raw, &b); err != nil || len(raw) > 1<<20 {
			t.Fatal(err, len(raw))
		}
		if b.Content == "" || b.Content != b.Text || len(utf16.Encode([]rune(b.Content))) > 2000 {
			t.Fatalf("%s", raw)
		}
		if b.Mentions == nil || b.Mentions.Parse == nil || len(b.Mentions.Parse) > 0 {
			t.Fatalf("mentions are allowed: %s", raw)
		}
		if strings.ContainsAny(strings.ReplaceAll(b.Text, "@\u200b", ""), "@<>\n\x1b\u202e") || strings.Contains(b.Text, "](") {
			t.Fatalf("the sentence has markup: %q", b.Text)
		}
		if len(b.Steps) != min(len(notice.Steps), 100) || b.StepCount != len(notice.Steps) || len(b.Questions) > 20 ||
			utf8.RuneCountInString(b.Title) > 500 || utf8.RuneCountInString(b.Details) > 4000 {
			t.Fatalf("%s", raw)
		}
		if strings.ContainsAny(b.Title+b.Details, "\x1b\u202e") {
			t.Fatalf("%q, %q", b.Title, b.Details)
		}
	})
}
