package agentsmd

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
)

// reporter is the common part of testing and rapid.
type reporter interface {
	Helper()
	Fatalf(string, ...any)
}

// pieces are lines and parts of lines with a meaning for the scanner.
func pieces(content string) []string {
	whole := renderBlock(content, "\n")
	return []string{
		"", "text", "# head", "```", "````", "~~~", "```go", "``` `", "- ```", "1. ~~~", "    ```", "\t```", "> ```", "---", "\r", "x\r",
		" ", byteOrderMark,
		endMarker, "  " + endMarker, "    " + endMarker, endMarker + " x", "x " + endMarker, "<!--planloop:end-->",
		"<!-- planloop:ending -->",
		"<!-- planloop:begin v=1 sha256=" + hashOf(content) + " -->", "<!-- planloop:begin -->", "<!-- planloop:begin v=2 -->",
		"<!-- planloop:begin", "<!-- planloop:begin v=1 --> x",
		whole, strings.ReplaceAll(whole, "\n", "\r\n"), renderBlock("older\n```\n", "\n"),
		strings.Replace(whole, "\n", "\nedited\n", 1), strings.TrimSpace(content),
	}
}

func drawFile(content string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces(content)), rapid.StringMatching("[ -~é]{0,8}")), 0, 8).Draw(t, "lines")
		var b strings.Builder
		if rapid.Bool().Draw(t, "mark") {
			b.WriteString(byteOrderMark)
		}
		for i, part := range parts {
			b.WriteString(part)
			if i < len(parts)-1 || rapid.Bool().Draw(t, "ended") {
				b.WriteString(rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol"))
			}
		}
		return b.String()
	})
}

func drawContent(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"rule", "```", "~~~", "", "- ```sh", "# a", "    " + endMarker}), 1, 6).
		Draw(t, "canonical")
	content, err := contentOf(strings.Join(parts, "\n") + "\nlast")
	if err != nil {
		t.Fatalf("%v", err)
	}
	return content
}

func TestLaws(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		older, newer := drawContent(t), drawContent(t)
		requireLaws(t, drawFile(older).Draw(t, "file"), older, newer)
	})
}

func FuzzFile(f *testing.F) {
	canonical := "# Rules\n\n```sh\nplanloop status\n```\n"
	for _, piece := range pieces(canonical) {
		f.Add(piece, canonical)
		f.Add("a\r\nb\r\n"+piece, "rule")
		f.Add("```\n"+piece+"\n```\n"+piece, "~~~")
	}
	f.Add("a\n\n"+renderBlock(canonical, "\n")+"\nb\n", canonical)
	f.Add(byteOrderMark+byteOrderMark+"a", "b")
	f.Fuzz(func(t *testing.T, raw, canonical string) {
		_, _ = parse(raw)
		if len(raw) > 64<<10 || !utf8.ValidString(raw) || strings.Contains(raw, "\x00") {
			return // refused before anything is parsed
		}
		content, err := contentOf(canonical)
		if err != nil {
			return
		}
		requireLaws(t, raw, content, "another\n```\n")
	})
}

// requireLaws checks the promises of the package on a file, for one text and then for its replacement.
func requireLaws(t reporter, raw, content, next string) {
	t.Helper()
	d, wrong := parse(raw)
	if wrong != nil {
		if wrong.line < 1 || wrong.line > strings.Count(raw, "\n")+1 || wrong.problem == "" || wrong.fix == "" {
			t.Fatalf("%q: bad fault %+v", raw, wrong)
		}
		return
	}
	written := requireInSync(t, d, raw, content)
	requireInSync(t, mustParse(t, written), written, next)
	if d.block == nil {
		requireGoneAgain(t, written, raw)
		requireGoneAgain(t, mustParse(t, written).with(next), raw)
	}
}

func mustParse(t reporter, raw string) document {
	t.Helper()
	d, wrong := parse(raw)
	if wrong != nil {
		t.Fatalf("%q: %+v", raw, wrong)
	}
	return d
}

// requireInSync: the written file has the intact block, and the rest of the former file unchanged; writing it again
// changes nothing.
func requireInSync(t reporter, d document, raw, content string) string {
	t.Helper()
	written := d.with(content)
	again := mustParse(t, written)
	if again.block == nil || !again.block.intact || again.block.content != content {
		t.Fatalf("%q became %q, whose block is %+v", raw, written, again.block)
	}
	if twice := again.with(content); twice != written {
		t.Fatalf("%q became %q, then %q", raw, written, twice)
	}
	before, after := again.mark+again.text[:again.block.start], again.text[again.block.end:]
	if d.block != nil {
		if before != d.mark+d.text[:d.block.start] || after != d.text[d.block.end:] {
			t.Fatalf("%q became %q: what is outside the block changed", raw, written)
		}
		return written
	}
	gap := len(d.mark) + d.insertAt
	added := strings.TrimPrefix(before, raw[:gap]) + strings.TrimSuffix(after, raw[gap:])
	if !strings.HasPrefix(before, raw[:gap]) || !strings.HasSuffix(after, raw[gap:]) || strings.Trim(added, "\r\n") != "" ||
		len(added) > 4 {
		t.Fatalf("%q became %q: the user's text changed", raw, written)
	}
	return written
}

func requireGoneAgain(t reporter, written, raw string) {
	t.Helper()
	if got, gone := mustParse(t, written).without(); got != raw || gone {
		t.Fatalf("%q became %q, without its block %q (gone: %v)", raw, written, got, gone)
	}
}

func TestTextOfOneBlockOnly(t *testing.T) {
	if got, gone := mustParse(t, renderBlock("rule\n", "\n")+"\n").without(); got != "" || !gone {
		t.Errorf("%q, %v", got, gone)
	}
}

// The cost of a file full of markers must be proportional to its length.
func BenchmarkManyMarkers(b *testing.B) {
	line := "<!-- planloop:begin v=1 sha256=" + hashOf("rule\n") + " -->\n"
	raw := "```\n" + strings.Repeat(line, MaxBytes/len(line)-1) + endMarker + "\n"
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, wrong := parse(raw); wrong != nil {
			b.Fatal(wrong)
		}
	}
}

func TestFences(t *testing.T) {
	for line, want := range map[string]fence{
		"```": {'`', 3}, "~~~": {'~', 3}, "`````": {'`', 5}, "```go": {'`', 3}, "~~~ `x` ~~~": {'~', 3}, "```\r": {'`', 3},
		"   ```": {'`', 3}, "\t```": {'`', 3}, "- ```": {'`', 3}, "* - 1. ~~~": {'~', 3}, "12) ```": {'`', 3},
		"": {}, "``": {}, "~ ~~~": {}, "~~ ~~~": {}, "```x```": {}, "``` `": {}, "x ```": {}, "> ```": {}, "-```": {},
		"1234567890. ```": {},
	} {
		if got := opens(line); got != want {
			t.Errorf("%q opens %+v, want %+v", line, got, want)
		}
	}
	for line, want := range map[string]bool{
		"````": true, "`````": true, "  ```` \t\r": true, "```": false, "~~~~": false, "````go": false, "```` x": false, "": false,
	} {
		if got := (fence{'`', 4}).closedBy(line); got != want {
			t.Errorf("%q closes: %v", line, got)
		}
	}
}
