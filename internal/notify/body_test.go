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
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/rapidtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// mailbox takes every request and keeps the last body.
type mailbox struct{ body []byte }

func (m *mailbox) RoundTrip(r *http.Request) (*http.Response, error) {
	m.body, _ = io.ReadAll(r.Body)
	return &http.Response{StatusCode: 204, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// sent returns the body of a notice.
func sent(t interface{ Fatal(...any) }, w notify.Webhook, notice notify.Notice) []byte {
	var box mailbox
	n, err := notify.New(notify.Config{Webhooks: []notify.Webhook{w}}, environment,
		notify.Options{HTTPClient: &http.Client{Transport: &box}})
	if err != nil {
		t.Fatal(err)
	}
	n.Notify(notice)
	if err := n.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return box.body
}

func TestBodies(t *testing.T) {
	question := notify.Notice{Event: notify.QuestionWaits, Workspace: `C:\Users\ann\shop\`, Title: "Which\ndatabase?", Time: aPlan().Time}
	entered := notify.Notice{Event: notify.ModeEntered, Title: "too many unknowns", Text: "I'd like to plan this out before proceeding.",
		Time: aPlan().Time}
	long := aPlan()
	long.Steps = nil
	for range 40 {
		long.Steps = append(long.Steps, notify.Step{ID: "S007", Title: strings.Repeat("long ", 100), Risk: "high"})
	}
	for name, notice := range map[string]notify.Notice{"plan": aPlan(), "question": question, "entered": entered, "long": long,
		"empty": {Time: aPlan().Time}} {
		for _, format := range []notify.Format{notify.JSON, notify.Discord} {
			t.Run(name+"/"+string(format), func(t *testing.T) {
				golden(t, name+"_"+string(format)+".json", sent(t, notify.Webhook{URL: hook, Format: format}, notice))
			})
		}
	}
}

// golden compares a body, but for its random id, with a file.
func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	body = regexp.MustCompile(`"id":"[A-Z2-7]{26}"`).ReplaceAll(body, []byte(`"id":"ID"`))
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFormatFollowsTheHost(t *testing.T) {
	for url, discord := range map[outbound.Secret]bool{
		"https://discord.com/api/webhooks/1/x": true, "https://Canary.discord.com/api/webhooks/1/x": true,
		"https://discordapp.com/api/webhooks/1/x": true,
		"https://notdiscord.com/x":                false, "https://discord.com.example.com/x": false,
		"https://example.com/discord.com": false,
	} {
		if got := bytes.Contains(sent(t, notify.Webhook{URL: url}, aPlan()), []byte("allowed_mentions")); got != discord {
			t.Errorf("%s: in Discord's shape: %v", string(url), got)
		}
	}
	if !bytes.Contains(sent(t, notify.Webhook{URL: "https://discord.com/x", Format: notify.JSON}, aPlan()), []byte(`"version":1`)) {
		t.Error("the format that was written does not count")
	}
}

// aNotice draws notices of all lengths, with text that means something to those
// who show it.
func aNotice() *rapid.Generator[notify.Notice] {
	text := rapid.Custom(func(t *rapid.T) string {
		piece := rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{"@everyone", "<@1>", "<@&2>", "<#3>", "[a](https://evil.test)", "https://evil.test", "```", "||",
				"\n# ", "\n> ",
				"\n-# ", "\n1. ", ":green_circle:", "<t:0>", "\\", "\u202e", "\x1b[2J", "\xff", "🟢", strings.Repeat("x", 300),
				strings.Repeat("*", 700), strings.Repeat("🔴", 600)}))
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	})
	step := rapid.Custom(func(t *rapid.T) notify.Step {
		return notify.Step{ID: text.Draw(t, "id"), Title: text.Draw(t, "title"),
			Risk: rapid.SampledFrom([]string{"", "low", "medium", "high", "@here"}).Draw(t, "risk")}
	})
	return rapid.Custom(func(t *rapid.T) notify.Notice {
		return notify.Notice{
			Event: rapid.SampledFrom(append(notify.Events(), "other")).Draw(t, "event"), Workspace: text.Draw(t, "workspace"),
			Title: text.Draw(t, "title"), Text: text.Draw(t, "text"),
			PlanID: text.Draw(t, "plan"), Steps: rapid.SliceOfN(step, 0, 40).Draw(t, "steps"),
			Questions: rapid.SliceOfN(text, 0, 30).Draw(t, "questions"), How: text.Draw(t, "how"),
			Time: time.Unix(0, 0),
		}
	})
}

type discordMessage struct {
	Content string
	Embeds  []struct {
		Author             struct{ Name string }
		Title, Description string
		Fields             []struct{ Name, Value string }
		Footer             struct{ Text string }
	}
	AllowedMentions *struct{ Parse []string } `json:"allowed_mentions"`
}

// TestDiscordTakesWhatIsSent holds Discord's limits, and that no text of a plan
// is anything but text, for notices of all kinds.
func TestDiscordTakesWhatIsSent(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		notice := aNotice().Draw(t, "notice")
		raw := sent(t, notify.Webhook{URL: hook, Format: notify.Discord}, notice)
		var m discordMessage
		if err := json.Unmarshal(raw, &m); err != nil || len(m.Embeds) != 1 || m.Content != "" {
			t.Fatalf("%v: %s", err, raw)
		}
		if m.AllowedMentions == nil || m.AllowedMentions.Parse == nil || len(m.AllowedMentions.Parse) > 0 {
			t.Fatalf("mentions are allowed: %s", raw)
		}
		e := m.Embeds[0]
		total := within(t, "author", e.Author.Name, 0, 256) + within(t, "title", e.Title, 1, 256) +
			within(t, "description", e.Description, 0, 4096) + within(t, "footer", e.Footer.Text, 0, 2048)
		for _, f := range e.Fields {
			total += within(t, "name", f.Name, 1, 256) + within(t, "value", f.Value, 1, 1024)
			plain(t, f.Name)
			plain(t, f.Value)
		}
		if total > 6000 || len(e.Fields) > 25 || len(notice.Steps) > 0 && len(e.Fields) < min(len(notice.Steps), 24) {
			t.Fatalf("%d characters, %d fields for %d steps", total, len(e.Fields), len(notice.Steps))
		}
		_, title, _ := strings.Cut(e.Title, ": ")
		plain(t, title)
		plain(t, e.Description)
		if at := strings.ReplaceAll(e.Author.Name+e.Footer.Text, "@\u200b", ""); strings.Contains(at, "@") {
			t.Fatalf("somebody is named: %q, %q", e.Author.Name, e.Footer.Text)
		}
	})
}

func within(t *rapid.T, what, s string, least, most int) int {
	n := len(utf16.Encode([]rune(s)))
	if n < least || n > most || n > 0 && strings.TrimSpace(s) == "" || !utf8.ValidString(s) {
		t.Fatalf("the %s has %d characters: %q", what, n, s)
	}
	return n
}

// plain fails where a mark stands without its backslash, or text that Discord
// would not show as it is.
func plain(t *rapid.T, s string) {
	rest := regexp.MustCompile("\\\\[-\\\\`*_~|<>#.:()\\[\\]]").ReplaceAllString(strings.ReplaceAll(s, "@\u200b", ""), "")
	if strings.ContainsAny(rest, "\\`*_~|<>#-.:[]()@\x1b\u202e") {
		t.Fatalf("a mark has its meaning: %q", s)
	}
}

// TestJSONIsBounded: whatever a plan holds, the body stays small and readable.
func TestJSONIsBounded(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		notice := aNotice().Draw(t, "notice")
		notice.Steps = append(notice.Steps, make([]notify.Step, 200)...)
		raw := sent(t, notify.Webhook{URL: hook}, notice)
		var b struct {
			Text, Title string
			Steps       []struct{ Title string }
			StepCount   int `json:"step_count"`
			Questions   []string
		}
		if err := json.Unmarshal(raw, &b); err != nil || len(raw) > 1<<20 {
			t.Fatal(err, len(raw))
		}
		if len(b.Steps) != 100 || b.StepCount != len(notice.Steps) || len(b.Questions) > 20 || utf8.RuneCountInString(b.Title) > 500 ||
			utf8.RuneCountInString(b.Text) > 4000 {
			t.Fatalf("%s", raw)
		}
		if strings.ContainsAny(b.Title+b.Text, "\x1b\u202e") {
			t.Fatalf("%q, %q", b.Title, b.Text)
		}
	})
}
