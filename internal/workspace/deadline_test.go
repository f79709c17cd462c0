package workspace_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/workspace"
)

// inTime fails the test unless call has answered within a time far beyond what
// it needs (a tenth of a second at most; a busy machine and the race detector
// make seconds of it). What is still running then ends with the test binary.
func inTime(t *testing.T, call func() error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- call() }()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		t.Fatal("no answer in time")
		return nil
	}
}

// hostileTexts are values, or what should be one, that fill 64 KB and that
// parsers have been seen to spend time out of all proportion on.
func hostileTexts() map[string]string {
	const size = 63 << 10
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	return map[string]string{
		"blank lines, literal": "|\n" + fill("\n"), "blank lines, folded": ">\n" + fill("\n"), "blank lines, CRLF": "|\r\n" + fill("\r\n"),
		"spaces, literal": "|\n" + fill("   \n"), "tabs, literal": "|\n" + fill("  \t\n"), "a line of spaces": "|\n" + fill(" "),
		"brackets": fill("["), "braces": fill("{a: "), "dashes": "\n" + fill("- "), "questions": "\n" + fill("? "), "keys in a row": fill("a: "),
		"pairs of brackets": "[" + fill("[],") + "]", "words": "[" + fill("x, ") + "]", "colons": "[" + fill(": "), "list": "\n" + fill("- x\n"), "empty list": "\n" + fill("-\n"),
		"deep keys": "\n" + steps(350), "deep dashes": "\n" + strings.ReplaceAll(steps(350), "a:", "-"), "comments": "\n" + fill("# x\n"), "comments in brackets": "[\n" + fill("x, # y\n"),
		"long key": "\n  " + fill("a") + ": b", "long key, quoted": "\n  \"" + fill("a") + "\": b", "long key, asked": "\n  ? " + fill("a") + "\n  : b", "long word": fill("a"),
		"long number": fill("9"), "long float": "1e" + fill("9"), "number in parts": fill("1_"), "escapes": `"` + fill(`\x41`) + `"`, "no end of quotes": `"` + fill("a\n\n"),
		"lines": "a\n" + fill("  a\n"), "CRLF": fill("\r\n"), "CR": fill("\r"), "CR, literal": "|\r" + fill("\r"), "byte order marks": fill("\ufeff"), "byte order marks, literal": "|\n" + fill(" \ufeff\n"),
		"tabs": fill("\t"), "tabs in lines": fill("\t\n"), "tabs before": "\n" + fill("\ta: b\n"), "many keys": "\n" + manyKeys(size),
		"anchors": "[" + fill("&a x, ") + "]", "aliases": "[&a x, " + fill("*a, ") + "]", "tags": "[" + fill("!a x, ") + "]", "documents": "x\n" + fill("--- \n"),
	}
}

func manyKeys(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString("  k" + strconv.Itoa(i) + ": v\n")
	}
	return b.String()
}

// Each text stands for a value in a section that is decoded, and for the whole
// of a workspace's own file.
func TestHostileTextsAreAnsweredInTime(t *testing.T) {
	for name, text := range hostileTexts() {
		for place, l := range map[string]layers{
			"a section": {user: "model:\n a: " + text}, "the file": {own: text},
		} {
			t.Run(name+" for "+place, func(t *testing.T) {
				s := l.sources(t)
				err := inTime(t, func() error { return loadAndDecode(s) })
				if refusal := (*workspace.ConfigError)(nil); err != nil && !errors.As(err, &refusal) {
					t.Errorf("%T: %v", err, err)
				}
				if err != nil && len(err.Error()) > 2000 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
			})
		}
	}
}

func loadAndDecode(s workspace.Sources) error {
	c, _, err := workspace.Load(s)
	if err != nil {
		return err
	}
	var into map[string]string
	return c.Model.Decode(&into)
}

// What is only long or blank is no reason to refuse it.
func TestBlankLinesAreText(t *testing.T) {
	for name, text := range map[string]string{
		"literal": "|\n    x\n" + strings.Repeat("\n", 60<<10), "folded": ">-\n    x\n" + strings.Repeat("\n", 60<<10), "CRLF": "|-\r\n    x" + strings.Repeat("\r\n", 30<<10),
	} {
		t.Run(name, func(t *testing.T) {
			s := layers{user: "model:\n  name: " + text}.sources(t)
			var into struct{ Name string }
			err := inTime(t, func() error {
				c, _, err := workspace.Load(s)
				return errors.Join(err, c.Model.Decode(&into))
			})
			if err != nil || strings.TrimSpace(into.Name) != "x" {
				t.Errorf("%q, %v", into.Name, err)
			}
		})
	}
}
