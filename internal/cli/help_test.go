package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/spf13/pflag"

	"github.com/planloop/planloop/internal/process"
)

// emptyWorld is a process without terminal, environment and input.
func emptyWorld() (environment, *bytes.Buffer, *bytes.Buffer) {
	var out, err bytes.Buffer
	return environment{in: strings.NewReader(""), out: &out, err: &err, getenv: func(string) string { return "" },
		lineage:   func() process.Lineage { return process.Lineage{NoTable: true} },
		home:      func() (string, error) { return "", errors.New("there is none") },
		inherited: func(...string) (variable, value string) { return "", "" }}, &out, &err
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// walk calls f for every command of the tree.
func walk(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, child := range cmd.Commands() {
		walk(child, f)
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	w, _, _ := emptyWorld()
	root := newRootCommand(&app{environment: w})
	commands := 0
	walk(root, func(cmd *cobra.Command) {
		commands++
		path := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: the short help is %q", path, cmd.Short)
		}
		if cmd.IsAdditionalHelpTopicCommand() {
			var shown bytes.Buffer
			cmd.SetOut(&shown)
			if err := cmd.Help(); err != nil || shown.Len() < 200 {
				t.Errorf("%s is a topic without text: %v, %q", path, err, &shown)
			}
			return
		}
		if !strings.Contains(cmd.Example, path) {
			t.Errorf("%s has no example that shows it: %q", path, cmd.Example)
		}
		if !cmd.Runnable() {
			t.Errorf("%s cannot be run", path)
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s is not explained", path, f.Name)
			}
		})
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if len([]rune(line)) > 82 {
				t.Errorf("%s: a line of the help is too long: %q", path, line)
			}
		}
	})
	if commands < 20 {
		t.Errorf("only %d commands were found", commands)
	}
}

// A new command replaces another one, or belongs below an existing one.
func TestTopLevelCommandsStayFew(t *testing.T) {
	const max = 41
	w, _, _ := emptyWorld()
	count := 1 // help, which does not count as available
	for _, cmd := range newRootCommand(&app{environment: w}).Commands() {
		if cmd.IsAvailableCommand() {
			count++
		}
	}
	if count < 20 || count > max {
		t.Errorf("planloop help lists %d commands, want at most %d", count, max)
	}
}

// The parser accepts the examples' command lines.
func TestExamplesParse(t *testing.T) {
	w, _, _ := emptyWorld()
	walk(newRootCommand(&app{environment: w}), func(cmd *cobra.Command) {
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			args, ok := exampleArguments(line)
			if !ok {
				continue
			}
			fresh := newRootCommand(&app{environment: w})
			found, rest, err := fresh.Find(args)
			if err != nil {
				t.Errorf("%q: %v", line, err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%q: %v", line, err)
				continue
			}
			if err := found.ValidateArgs(found.Flags().Args()); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	})
}

// exampleArguments returns the words after planloop in a shell line.
func exampleArguments(line string) ([]string, bool) {
	line, _, _ = strings.Cut(line, "  #")
	_, line, ok := strings.Cut(line, "planloop ")
	if !ok {
		return nil, false
	}
	line, _, _ = strings.Cut(line, " > ")
	line, _, _ = strings.Cut(line, " < ")
	line, _, _ = strings.Cut(line, ")")
	var words []string
	quote, word := rune(0), strings.Builder{}
	started := false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, started = r, true
		case r == ' ':
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(r)
			started = true
		}
	}
	return words, true
}
