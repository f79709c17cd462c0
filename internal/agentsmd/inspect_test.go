package agentsmd_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/agentsmd"
	"github.com/planloop/planloop/internal/testenv"
)

const mark = "\ufeff"

// block is the block of the canonical text, with its hash.
func block(t *testing.T) string {
	t.Helper()
	found, err := agentsmd.Inspect(t.TempDir(), agents, canonical)
	if err != nil || found.State != agentsmd.Absent {
		t.Fatalf("%v, %+v", err, found)
	}
	return strings.TrimSuffix(string(found.Content), "\n")
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

func TestEveryByteAroundTheBlock(t *testing.T) {
	own := block(t)
	for name, c := range map[string]struct {
		before string
		state  agentsmd.State
		after  string
	}{
		"empty":                 {"", agentsmd.NoBlock, own},
		"one line":              {"a\n", agentsmd.NoBlock, "a\n\n" + own + "\n"},
		"no last newline":       {"a", agentsmd.NoBlock, "a\n\n" + own},
		"blank lines":           {"a\n\n\n", agentsmd.NoBlock, "a\n\n\n\n" + own + "\n"},
		"crlf":                  {"a\r\nb\r\n", agentsmd.NoBlock, crlf("a\nb\n\n" + own + "\n")},
		"crlf, no last newline": {"a\r\nb", agentsmd.NoBlock, crlf("a\nb\n\n" + own)},
		"mostly crlf":           {"a\nb\r\nc\r\n", agentsmd.NoBlock, "a\nb\r\nc\r\n" + crlf("\n"+own+"\n")},
		"mostly lf":             {"a\r\nb\nc\n", agentsmd.NoBlock, "a\r\nb\nc\n\n" + own + "\n"},
		"lone returns":          {"a\rb\r", agentsmd.NoBlock, "a\rb\r\n\n" + own},
		"mark":                  {mark + "a\n", agentsmd.NoBlock, mark + "a\n\n" + own + "\n"},
		"mark only":             {mark, agentsmd.NoBlock, mark + own},
		"mark before the block": {mark + own, agentsmd.InSync, mark + own},
		"block in crlf":         {crlf("a\n" + own + "\nb"), agentsmd.InSync, crlf("a\n" + own + "\nb")},
		"lf block in crlf":      {"a\r\n" + own + "\r\nb\r\n", agentsmd.InSync, "a\r\n" + own + "\r\nb\r\n"},
		"edited in crlf": {crlf("a\n" + strings.Replace(own, "Rules", "Rulez", 1) + "\nb"), agentsmd.Edited, crlf("a\n" + own +
			"\nb")},
		"blanks at the end": {strings.Replace(own, "status --json\n", "status --json  \n", 1), agentsmd.Edited, own},
		"indented markers": {"   " + strings.Replace(own, "\n<!--", "\n  <!--", 1) + " \n", agentsmd.InSync, "   " +
			strings.Replace(own, "\n<!--", "\n  <!--", 1) + " \n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workspace(t, c.before)
			found := inspect(t, dir)
			if found.State != c.state || string(found.Content) != c.after {
				t.Errorf("%s, %q; want %s, %q", found.State, found.Content, c.state, c.after)
			}
			if found.File != agents || found.Target != agents || string(found.Before) != c.before || found.Refusal != nil {
				t.Errorf("%+v", found)
			}
			requireWritten(t, dir, []byte(c.before))
		})
	}
}

func TestFilesThatAreLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		state agentsmd.State
	}{
		"nul":              {"a\x00b", agentsmd.NotText},
		"latin":            {"caf\xe9", agentsmd.NotText},
		"utf-16":           {"\xff\xfea\x00", agentsmd.NotText},
		"too large":        {strings.Repeat("a", agentsmd.MaxBytes+1), agentsmd.TooLarge},
		"too large by us":  {strings.Repeat("a", agentsmd.MaxBytes), agentsmd.TooLarge},
		"a broken block":   {"<!-- planloop:end -->", agentsmd.Broken},
		"an unclosed mark": {"<!-- planloop:begin v=1\n<!-- planloop:end -->", agentsmd.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workspace(t, c.text)
			found := inspect(t, dir)
			if found.State != c.state || found.Refusal == nil || found.Content != nil {
				t.Errorf("%+v", found)
			}
			_, err := agentsmd.Write(dir, agents, canonical, false)
			requireRefusal(t, err, c.state)
			requireFile(t, dir, agents, c.text)
		})
	}
}

func TestTheLargestFile(t *testing.T) {
	own := block(t)
	dir := workspace(t, strings.Repeat("a", agentsmd.MaxBytes-len("\n\n"+own)))
	requireWritten(t, dir, nil)
	if found := inspect(t, dir); found.State != agentsmd.InSync || len(found.Content) != agentsmd.MaxBytes {
		t.Errorf("%s, %d bytes", found.State, len(found.Content))
	}
}

func TestFoldersAreNotFiles(t *testing.T) {
	dir := t.TempDir()
	testenv.Check(t, os.MkdirAll(filepath.Join(dir, "docs", "agents.md"), 0o755))
	_, err := agentsmd.Write(dir, agents, canonical, false)
	requireRefusal(t, err, agentsmd.Unreadable)
	put(t, dir, "file", "a")
	_, err = agentsmd.Write(dir, "file/agents.md", canonical, false)
	requireRefusal(t, err, agentsmd.Unreadable)
}

func TestPathsThatLeadOut(t *testing.T) {
	dir := workspace(t, "a")
	for _, file := range []string{"", ".", "docs/..", "docs/", "..", "../a.md", "docs/../../a.md", "/etc/a.md", `..\a.md`, `docs\a.md`,
		"C:a.md", "~/a.md", "a\x00.md", "a\n.md", "a\x1b.md"} {
		found, err := agentsmd.Inspect(dir, file, canonical)
		if err != nil || found.State != agentsmd.Outside || found.Refusal == nil {
			t.Errorf("%q: %v, %+v", file, err, found)
		}
		_, err = agentsmd.Write(dir, file, canonical, false)
		requireRefusal(t, err, agentsmd.Outside)
		_, err = agentsmd.Remove(dir, file, false)
		requireRefusal(t, err, agentsmd.Outside)
		_, err = agentsmd.Watch(t.Context(), dir, file, 0)
		requireRefusal(t, err, agentsmd.Outside)
	}
	requireFile(t, dir, agents, "a")
}

func TestCanonicalTexts(t *testing.T) {
	for _, text := range []string{"", " \n\t\n", "a\x00", "a\rb", "\xff", "a\n<!-- planloop:end -->\nb", "  <!--planloop:begin",
		"a\r\r\nb"} {
		for _, call := range []func() error{
			func() error { _, err := agentsmd.Inspect(t.TempDir(), agents, text); return err },
			func() error {
				_, err := agentsmd.Write(t.TempDir(), agents, text, false)
				return err
			},
		} {
			if err := call(); !errors.Is(err, agentsmd.ErrCanonical) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	own := block(t)
	for _, text := range []string{canonical, crlf(canonical), strings.TrimSuffix(canonical, "\n"), canonical + "\n\n"} {
		found, err := agentsmd.Inspect(workspace(t, own), agents, text)
		if err != nil || found.State != agentsmd.InSync {
			t.Errorf("%q: %v, %s", text, err, found.State)
		}
	}
}

func TestNoWorkspace(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if _, err := agentsmd.Inspect(gone, agents, canonical); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := agentsmd.Write(gone, agents, canonical, false); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := agentsmd.Remove(gone, agents, false); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := agentsmd.Watch(t.Context(), gone, agents, 0); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// requireRefusal checks that the error has the state, the problem and the fix.
func requireRefusal(t *testing.T, err error, state agentsmd.State) {
	t.Helper()
	refusal, ok := errors.AsType[*agentsmd.Error](err)
	if !ok {
		t.Fatalf("%v is no refusal", err)
	}
	if refusal.State != state || refusal.Problem == "" || refusal.Fix == "" || (refusal.Line > 0) != (state == agentsmd.Broken) {
		t.Errorf("%+v, want %s", refusal, state)
	}
}

func TestMain(m *testing.M) { os.Exit(testenv.Fixed{Tests: m}.Run()) }
