package cli

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/terminal"
)

// describedCommand is a command in `planloop help --json`, the source of man pages and of other programs' menus.
type describedCommand struct {
	Command  string          `json:"command"`
	Usage    string          `json:"usage,omitzero"` // empty for a topic, which cannot be run
	Does     string          `json:"does"`
	Details  string          `json:"details,omitzero"`
	Examples []string        `json:"examples,omitzero"`
	Flags    []describedFlag `json:"flags,omitzero"`
}

type describedFlag struct {
	Name    string `json:"name"`
	Short   string `json:"short,omitzero"`
	Value   string `json:"value,omitzero"` // placeholder of its value; empty for a switch
	Does    string `json:"does"`
	Default string `json:"default,omitzero"`
	Global  bool   `json:"global,omitzero"` // a flag of planloop, valid for every command
}

func (a *app) helpFor(help func(*cobra.Command, []string)) runner {
	return func(cmd *cobra.Command, args []string) error {
		found, rest, err := cmd.Root().Find(args)
		if err == nil && len(rest) > 0 {
			return unknownCommand(found, rest[0])
		}
		if a.flags.json && found != nil {
			return a.printJSON(map[string]any{"commands": describe(found, nil)})
		}
		help(cmd, args)
		return nil
	}
}

// firstCommands are the commands on the first page of help, in the order of use.
func firstCommands() []string {
	return []string{"demo", "init", "plan", "review", "approve", "edit", "reject", "status", "show", "run", "doctor"}
}

// shortenHelp makes the help of root one short page, and leaves the list of all commands to the topic "all".
func (a *app) shortenHelp(root *cobra.Command) {
	help := root.HelpFunc()
	all := newCommand("all", "", nil, nil)
	all.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		root.SetOut(cmd.OutOrStdout())
		help(root, args)
	})
	root.AddCommand(all, newCommand("agents", "", nil, nil))
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root {
			help(cmd, args)
			return
		}
		lines := []string{root.Long, ""}
		for _, name := range firstCommands() {
			found, _, err := root.Find([]string{name})
			if err != nil {
				continue // the tests of help find it
			}
			lines = append(lines, "  "+terminal.Pad("planloop "+name, 18)+found.Short)
		}
		lines = append(lines, "", "More: planloop help all, planloop help agents, planloop help COMMAND")
		fmt.Fprintln(a.out, strings.Join(lines, "\n"))
	})
}

func describe(cmd *cobra.Command, list []describedCommand) []describedCommand {
	d := describedCommand{Command: cmd.CommandPath(), Does: cmd.Short}
	if cmd.IsAdditionalHelpTopicCommand() && cmd.Long != "" {
		cmd.SetOut(io.Discard)
		_ = cmd.Help() // completes the text
	}
	if d.Details = strings.TrimSpace(cmd.Long); cmd.Runnable() {
		d.Usage = cmd.UseLine()
	}
	for example := range strings.SplitSeq(cmd.Example, "\n") {
		if example = strings.TrimSpace(example); example != "" {
			d.Examples = append(d.Examples, example)
		}
	}
	flag := func(global bool) func(*pflag.Flag) {
		return func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, does := pflag.UnquoteUsage(f)
			shown := describedFlag{Name: f.Name, Short: f.Shorthand, Value: value, Does: does, Global: global}
			if value != "" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "[]" {
				shown.Default = f.DefValue
			}
			d.Flags = append(d.Flags, shown)
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(flag(false))
	cmd.PersistentFlags().VisitAll(flag(cmd.Parent() == nil))
	list = append(list, d)
	for _, child := range cmd.Commands() {
		if !child.Hidden && child.Deprecated == "" {
			list = describe(child, list)
		}
	}
	return list
}

//go:embed commands.txt
var commandTexts string

// textsByPath returns the help texts by path: sections of commands.txt with a short first line, then paragraphs, then examples.
var textsByPath = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	for section := range strings.SplitSeq("\n"+commandTexts, "\n# ") {
		path, text, _ := strings.Cut(section, "\n")
		texts[path] = strings.TrimSpace(text)
	}
	return texts
})

// completed has text complete the help of a command or topic when the help is asked for, at no cost to other commands.
func completed(cmd *cobra.Command, text func(long string) string) *cobra.Command {
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = text(cmd.Long)
		cmd.Parent().HelpFunc()(cmd, args)
	})
	return cmd
}

func withGates(text string) string {
	var list strings.Builder
	for _, name := range gates.Names() {
		fmt.Fprintf(&list, "  %s: %s\n      %s\n", name, gates.ByProfile(gates.Default, name), gates.Purpose(name))
	}
	return strings.Replace(text, "{{gates}}\n", list.String(), 1)
}
