package workspace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/workspace"
)

// A mistake in one part of a section does not affect the others.
func TestEntriesAreDecodedOneByOne(t *testing.T) {
	sources := layers{user: "servers:\n  a: {command: x}\n  b: {comand: x}\n  c: [x]\n"}.sources(t)
	c, _, err := workspace.Load(sources)
	if err != nil {
		t.Fatal(err)
	}
	entries := testenv.Must(c.Servers.Entries())(t)
	for name, want := range map[string]string{"a": "",
		"b": "config.yaml:3: servers.b.comand is unknown; did you mean command? the keys here are command",
		"c": "config.yaml:4: servers.c is not a mapping; write key: value lines below it"} {
		var server struct{ Command string }
		err := entries[name].Decode(&server)
		if got := err != nil; got != (want != "") || got && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (workspace.Section{}).Entries(); err != nil {
		t.Error(err)
	}
	c, _, err = workspace.Load(layers{user: "servers: [a]"}.sources(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Servers.Entries(); err == nil ||
		!strings.HasSuffix(err.Error(), "config.yaml:1: servers is not a mapping; write key: value lines below it") {
		t.Error(err)
	}
}

type part struct {
	Time  time.Duration `yaml:"time"`
	Flag  *bool         `yaml:"flag"`
	Count int           `yaml:"count"`
	Share *float64      `yaml:"share,omitempty"`
	List  []string
	Text  string
	Own   string `yaml:"-"`

	Others map[string]part
}

// A misfit is reported with its place and the expected form.
func TestMisfitsAreToldInTheWritersWords(t *testing.T) {
	for text, want := range map[string]string{
		"x":                              "config.yaml:1: model is not a mapping; write key: value lines below it",
		"{tme: 5s}":                      "model.tme is unknown; did you mean time? the keys here are count, flag, list, others, share",
		"{zzzzzzzzz: 5}":                 "model.zzzzzzzzz is unknown; the keys here are count",
		"{time: 5}":                      "model.time is not a time; write a number with its unit, such as 30s, 10m or 1h",
		"{time: soon}":                   "model.time is not a time",
		"{time: [5s]}":                   "model.time is not a time",
		"{flag: perhaps}":                "model.flag is neither true nor false; write one of them",
		"{count: many}":                  "model.count is not a whole number; write one, such as 3",
		"{count: 1.5}":                   "model.count is not a whole number",
		"{count: 99999999999999999999}":  "model.count is not a whole number",
		"{share: much}":                  "model.share is not a number; write one, such as 0.5",
		"{list: a b}":                    "model.list is not a list; write a list, such as list: [one, two]",
		"{list: {a: b}}":                 "model.list is not a list",
		"{list: [{a: b}]}":               "model.list[0] is not one text; write a text, in quotes",
		"{text: {a: b}}":                 "model.text is not one text",
		"{others: {one: {time: 5}}}":     "model.others.one.time is not a time",
		"{others: {one: {tme: 5s}}}":     "model.others.one.tme is unknown; did you mean time?",
		"{others: {one: 5}}":             "model.others.one is not a mapping",
		"{others: [5]}":                  "model.others is not a mapping",
		"\n  text: a\n  list: topsecret": "config.yaml:3: model.list is not a list",
	} {
		var into part
		c, warnings, err := workspace.Load(layers{user: "model: " + text + "\n"}.sources(t))
		if err != nil || len(warnings) > 0 {
			t.Fatal(text, warnings, err)
		}
		err = c.Model.Decode(&into)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
