package cli

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/planloop/planloop/internal/testenv"
)

// pictureColumns is the width of the terminal in a picture.
const pictureColumns = 92

// scene is the content of a picture at one time: the pieces typed and printed since the screen was cleared.
type scene [][]string

// TestPictures proves that the pictures in the documentation show planloop's real output. It runs the stories in testdata/pictures, which
// draw them: typed KEYS EXIT COMMAND... runs a command at a terminal and shows it (see atTerminal), remark TEXT explains, told NAME.NAME
// shows a text from the last output's JSON, calls FILE makes an agent's calls of planloop's tools, fresh clears the screen, and drawn FILE
// TITLE draws the picture. UPDATE_SCRIPTS=1 go test ./internal/cli -run TestPictures redraws them.
func TestPictures(t *testing.T) {
	params := scripts(t, "../../testdata/pictures")
	folder, err := filepath.Abs("../../docs/images")
	testenv.Check(t, err)
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Values["scenes"], env.Values["agent"] = &[]scene{{}}, &agent{}
		return setup(env)
	}
	scenes := func(ts *testscript.TestScript) *[]scene { return ts.Value("scenes").(*[]scene) }
	show := func(ts *testscript.TestScript, lines ...string) {
		all := *scenes(ts)
		all[len(all)-1] = append(all[len(all)-1], lines)
	}
	maps.Copy(params.Cmds, map[string]func(*testscript.TestScript, bool, []string){
		"typed": func(ts *testscript.TestScript, _ bool, args []string) {
			shown, code, err := onScreen(pictureColumns, args[0], args[2:], scriptEnvironment(ts), ts.MkAbs("."), func(string) {})
			ts.Logf("[terminal]\n%s", shown)
			ts.Check(err)
			if fmt.Sprint(code) != args[1] {
				ts.Fatalf("exit code %d, want %s", code, args[1])
			}
			show(ts, "\x1b[32m$\x1b[0m \x1b[1m"+commandShown(args[2:])+"\x1b[0m")
			show(ts, strings.Split(strings.TrimRight(sameEachTime(ts, shown), "\n"), "\n")...)
		},
		"remark": func(ts *testscript.TestScript, _ bool, args []string) {
			show(ts, "\x1b[2m# "+strings.Join(args, " ")+"\x1b[0m")
		},
		"told": func(ts *testscript.TestScript, _ bool, args []string) {
			show(ts, strings.Split(ansi.Wordwrap(sameEachTime(ts, fieldOf(ts, args[0])), pictureColumns, ""), "\n")...)
		},
		"calls": agentCalls,
		"fresh": func(ts *testscript.TestScript, _ bool, _ []string) { *scenes(ts) = append(*scenes(ts), scene{}) },
		"drawn": func(ts *testscript.TestScript, _ bool, args []string) {
			file, want := filepath.Join(folder, args[0]), drawn(strings.Join(args[1:], " "), *scenes(ts))
			*scenes(ts) = []scene{{}}
			if update {
				ts.Check(os.WriteFile(file, []byte(want), 0o644))
			} else if got, err := os.ReadFile(file); err != nil || string(got) != want {
				ts.Fatalf("%s is not what is printed now (%v); to draw it anew: UPDATE_SCRIPTS=1 go test ./internal/cli -run TestPictures",
					args[0], err)
			}
		},
	})
	params.UpdateScripts = false
	testscript.Run(t, params)
}

// agent is a server on standard input and output, as a host starts it.
type agent struct {
	in  io.Writer
	out *bufio.Scanner
}

// agentCalls makes the calls in a file through a server that runs until the story ends: hooks count only while a server runs.
func agentCalls(ts *testscript.TestScript, _ bool, args []string) {
	a := ts.Value("agent").(*agent)
	if a.in == nil {
		cmd := exec.Command("sh", "-c", "exec planloop serve")
		cmd.Dir, cmd.Env = ts.MkAbs("."), scriptEnvironment(ts)
		in, err := cmd.StdinPipe()
		ts.Check(err)
		out, err := cmd.StdoutPipe()
		ts.Check(err)
		ts.Check(cmd.Start())
		ts.Defer(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
		a.in, a.out = in, bufio.NewScanner(out)
		a.out.Buffer(nil, 1<<20)
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		_, err := io.WriteString(a.in, line)
		ts.Check(err)
		for strings.Contains(line, `"id":`) && a.out.Scan() && !strings.Contains(a.out.Text(), `"id":`) {
			continue // it notifies
		}
		ts.Logf("%s", a.out.Text())
	}
}

// commandShown returns a command as a person types it.
func commandShown(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		if words[i] = arg; strings.ContainsAny(arg, " ;|>") {
			words[i] = `"` + arg + `"`
		}
	}
	return strings.Join(words, " ")
}

// sameEachTime replaces the parts that differ from run to run with fixed ones.
func sameEachTime(ts *testscript.TestScript, shown string) string {
	if code := shownCode.FindStringSubmatch(plainScreen(shown)); code != nil {
		shown = strings.ReplaceAll(shown, code[1], "471108")
	}
	const broken = `(?:\n +\| )?` // line break inside a long word
	var app strings.Builder
	for _, letter := range ts.Getenv("WORK") + "/app" {
		app.WriteString(regexp.QuoteMeta(string(letter)) + broken)
	}
	shown = regexp.MustCompile(app.String()).ReplaceAllString(shown, "~/app")
	shown = strings.ReplaceAll(shown, ts.Getenv("WORK"), "~")
	for _, u := range []struct{ pattern, looks string }{
		{`\d{4}-\d\d-\d\d \d\d:\d\d`, "12:22"}, {`\b\d\d:\d\d\b`, "12:22"}, {`(until|ends at) 12:22`, "$1 12:52"},
		{`-\d{10}\b`, "-1795342205"}, {`#[0-9a-f]{6}\b`, "#66c5bb"}, {`\b\d+ (s|min) ago`, "just now"},
	} {
		shown = regexp.MustCompile(u.pattern).ReplaceAllString(shown, u.looks)
	}
	return shown
}

const (
	cell, lineHeight, margin = 8.43, 20, 20 // in pixels
	paper, ink               = "#15191f", "#d7dce2"
)

// drawn returns a picture in SVG. It plays scenes and typed commands one after another with CSS alone, since the pages that embed it run no
// scripts. Without animation the last scene is visible.
func drawn(title string, scenes []scene) string {
	var body, style strings.Builder
	rows, now, typed := 0, 0.0, 0
	length := duration(scenes)
	for i, s := range scenes {
		row, end, last := 0, now+duration(scenes[i:i+1]), i == len(scenes)-1
		for _, lines := range s {
			var text strings.Builder
			for j, line := range lines {
				text.WriteString(drawnLine(line, row+j))
			}
			opacity := ""
			if len(scenes) > 1 {
				class := fmt.Sprintf("p%d", typed)
				fmt.Fprintf(&style, ".%s{animation:%s %.1fs step-end infinite}@keyframes %s{%s}\n", class, class, length, class,
					visible(now, end, length))
				opacity = ` class="` + class + `"`
				if !last {
					opacity += ` opacity="0"`
				}
				if keys := keysIn(lines); keys > 0 {
					text.WriteString(cover(class, row, keys))
					fmt.Fprintf(&style, ".c%s{animation:c%s %.1fs infinite}@keyframes c%s{%s}\n", class, class, length, class,
						uncovered(now, now+typing(keys), length, keys))
				}
			}
			fmt.Fprintf(&body, "<g%s>\n%s</g>\n", opacity, text.String())
			now += pieceTime(lines)
			row += len(lines)
			typed++
		}
		now, rows = end, max(rows, row)
	}
	width, height := 2*margin+pictureColumns*cell, 2*margin+lineHeight*rows-4
	if len(scenes) > 1 {
		fmt.Fprintf(&style, "@media (prefers-reduced-motion:reduce){*{animation:none!important}}\n")
		fmt.Fprintf(&body, "<style>\n%s</style>\n", style.String())
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img" `+
		`font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">
<title>%s</title>
<rect width="%.0f" height="%d" rx="8" fill="%s"/>
%s</svg>
`, width, height, width, height, html.EscapeString(title), width, height, paper, body.String())
}

// pieceTime is how long a piece stays before the next one: a command is typed, output is read.
func pieceTime(lines []string) float64 {
	if keys := keysIn(lines); keys > 0 {
		return typing(keys) + 0.4
	}
	return 0.9 + 0.22*float64(len(lines))
}

func typing(keys int) float64 { return 0.3 + 0.035*float64(keys) }

// keysIn returns the number of keys typed for a piece, 0 for output.
func keysIn(lines []string) int {
	if text, ok := strings.CutPrefix(ansi.Strip(lines[0]), "$ "); ok && len(lines) == 1 {
		return ansi.StringWidth(text)
	}
	return 0
}

func duration(scenes []scene) float64 {
	sum := 0.0
	for _, s := range scenes {
		for _, lines := range s {
			sum += pieceTime(lines)
		}
		sum += 1.5
	}
	return sum
}

// visible returns the key frames for a piece that is visible between two times.
func visible(from, to, length float64) string {
	frames := fmt.Sprintf("0%%{opacity:0}%.2f%%{opacity:1}", 100*from/length)
	if from == 0 {
		frames = "0%{opacity:1}"
	}
	if to < length-0.01 {
		frames += fmt.Sprintf("%.2f%%{opacity:0}", 100*to/length)
	}
	return frames
}

// cover hides a command and slides aside while it is typed.
func cover(class string, row, keys int) string {
	return fmt.Sprintf(`<rect class="c%s" opacity="0" x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n",
		class, margin+2*cell, margin+row*lineHeight-4, float64(keys)*cell, lineHeight, paper)
}

func uncovered(from, to, length float64, keys int) string {
	return fmt.Sprintf("0%%,%.2f%%{opacity:1;transform:none;animation-timing-function:steps(%d)}"+
		"%.2f%%{opacity:1;transform:translateX(%.1fpx);animation-timing-function:step-start}100%%{opacity:0}",
		100*from/length, keys, 100*to/length, float64(keys)*cell)
}

var colours = map[string]string{"31": "#f2777a", "32": "#8fd460", "33": "#f2c55c", "34": "#7aa6f2", "35": "#c99cf2", "36": "#5fd7d7"}

var styleSequence = regexp.MustCompile(`\x1b\[([\d;]*)m`)

// drawnLine draws a terminal line with colours, bold and faint text.
func drawnLine(line string, row int) string {
	var b strings.Builder
	fill, weight, column := ink, "", 0
	for line != "" {
		text, rest := line, ""
		at := styleSequence.FindStringSubmatchIndex(line)
		if at != nil {
			text, rest = line[:at[0]], line[at[1]:]
		}
		b.WriteString(drawnText(text, column, row, fill, weight))
		column += ansi.StringWidth(text)
		if at != nil {
			for code := range strings.SplitSeq(line[at[2]:at[3]], ";") {
				switch {
				case code == "1":
					weight += ` font-weight="bold"`
				case code == "2":
					weight += ` fill-opacity="0.6"`
				case colours[code] != "":
					fill = colours[code]
				default:
					fill, weight = ink, ""
				}
			}
		}
		line = rest
	}
	return b.String()
}

// drawnText draws words with explicit positions, so that they align as in a terminal in every font.
func drawnText(text string, column, row int, fill, weight string) string {
	column += ansi.StringWidth(text) - ansi.StringWidth(strings.TrimLeft(text, " "))
	if text = strings.Trim(text, " "); text == "" {
		return ""
	}
	return fmt.Sprintf(`<text x="%.1f" y="%d" textLength="%.1f" fill="%s"%s>%s</text>`+"\n", margin+float64(column)*cell,
		margin+12+row*lineHeight, float64(ansi.StringWidth(text))*cell, fill, weight, html.EscapeString(text))
}
