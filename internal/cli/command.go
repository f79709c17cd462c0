package cli

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Shared parts of the commands: help texts, arguments and their completion, and the ways to call a verb.

type runner = func(cmd *cobra.Command, args []string) error

// newCommand returns a command with its help texts. arguments describes its arguments in the help; check refuses all others.
func newCommand(names, arguments string, check cobra.PositionalArgs, run runner) *cobra.Command {
	words := strings.Fields(names)
	text, examples, _ := strings.Cut(textsByPath()[names], "\nExamples:\n")
	short, long, _ := strings.Cut(text, "\n")
	takesCommand := slices.Contains([]string{"check", "confine", "plan allows"}, names) // which may contain such a word
	if run != nil && !takesCommand {
		run = refusePlaceholders(strings.ToLower(arguments), run)
	}
	return &cobra.Command{Use: strings.TrimSpace(words[len(words)-1] + " " + arguments), Short: short,
		Long: strings.TrimSpace(long), Example: examples, Args: check, RunE: run}
}

type input[In any] = func(cmd *cobra.Command, args []string) (In, error)

func constant[In any](in In) input[In] {
	return func(*cobra.Command, []string) (In, error) { return in, nil }
}

func joinedText(_ *cobra.Command, args []string) (string, error) { return strings.Join(args, " "), nil }

type verb[In, Out any] = func(*verbs.Service, context.Context, verbs.Caller, In) (Out, error)

func callVerb[In, Out any](cmd *cobra.Command, args []string, a *app, do verb[In, Out], in input[In]) (reply Out, err error) {
	value, wrong := in(cmd, args)
	if wrong != nil && !errors.As(wrong, new(*verbs.BadCall)) {
		return reply, wrong
	}
	ws, err := a.open(cmd.Context(), nil)
	switch {
	case err != nil:
		return reply, cmp.Or(wrong, err)
	case wrong != nil:
		return reply, verbs.Try(cmd.Context(), ws.verbs, a.caller(), wrong, value, do)
	}
	return confirmed(cmd.Context(), a, func(c verbs.Caller) (Out, error) { return do(ws.verbs, cmd.Context(), c, value) })
}

// confirmed calls do. If it would replace or clear an approved, unfinished plan, a person at the terminal confirms first.
func confirmed[Out any](ctx context.Context, a *app, do func(verbs.Caller) (Out, error)) (Out, error) {
	c := a.caller()
	c.Actor.IsUnconfirmed = !a.flags.yes
	reply, err := do(c)
	refused, is := errors.AsType[*plan.ValidationError](err)
	if !is || refused.ApprovedPlan == "" || !c.Actor.IsPresent() {
		return reply, err
	}
	if yes, err := a.isYes(ctx, a.err, "planloop: "+refused.Problem+". Give it up?"); err != nil || !yes {
		return reply, cmp.Or(err, error(usageError{errors.New("nothing was changed")}))
	}
	c.Actor.IsUnconfirmed = false
	return do(c)
}

// isYes asks a question at the terminal; any answer but yes is no.
func (a *app) isYes(ctx context.Context, out io.Writer, question string) (bool, error) {
	if _, err := io.WriteString(out, question+" [y/N] "); err != nil {
		return false, fmt.Errorf("ask: %w", err)
	}
	answer, err := readLine(ctx, a.in)
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))), err
}

// replacing adds to a command that may replace or clear the current plan the flag that confirms it.
func (a *app) replacing(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.flags.yes, "yes", false, "replace or clear an approved, unfinished plan without asking")
	return cmd
}

func runVerb[In any, Out verbs.Reply](a *app, do verb[In, Out], in input[In]) runner {
	return func(cmd *cobra.Command, args []string) error {
		return a.replyOf(callVerb(cmd, args, a, do, in))
	}
}

// runAsPerson runs a verb that only people may call, and prints its outcome. doing names the act in a refusal.
func runAsPerson[In, Out any](a *app, doing string, do verb[In, Out], in input[In], outcome func(Out) string) runner {
	return func(cmd *cobra.Command, args []string) error {
		if err := a.checkDecidedHere(cmd.Context()); err != nil {
			return err
		}
		if err := a.requirePerson(doing); err != nil {
			return err
		}
		reply, err := callVerb(cmd, args, a, do, in)
		if err != nil {
			return err
		}
		return a.printReply(reply, outcome(reply))
	}
}

// newObjectCommand returns a command that passes one JSON object of the contract to a verb. Its reply is JSON, or words for a person at a
// terminal with a file.
func newObjectCommand[In any, Out verbs.Reply](a *app, name string, do verb[In, Out]) *cobra.Command {
	var inline, file string
	check := func(cmd *cobra.Command, args []string) error {
		a.flags.json = cmd.Flags().Changed("json") || !a.isReadByPerson() // even a refusal
		return noArguments(cmd, args)
	}
	cmd := newCommand(name, "", check, runVerb(a, do, func(cmd *cobra.Command, _ []string) (in In, err error) {
		inlined, fromFile := cmd.Flags().Changed("json"), cmd.Flags().Changed("file")
		switch {
		case inlined && fromFile:
			return in, usageError{errors.New("--json and --file exclude each other; give one of them")}
		case inlined:
			return in, verbs.Decode([]byte(inline), &in)
		case fromFile:
			return readObject[In](cmd.Context(), a, file)
		case a.inIsTerminal:
			return in, missing(cmd, "an object: --json, --file or standard input")
		}
		return readObject[In](cmd.Context(), a, "-")
	}))
	cmd.Flags().StringVar(&inline, "json", "", "the `OBJECT`")
	cmd.Flags().StringVarP(&file, "file", "f", "", "read the object from `FILE`, or from standard input with -")
	return cmd
}

func unknownCommand(cmd *cobra.Command, word string) error {
	instead := "see `" + cmd.CommandPath() + " --help`"
	if likely := likelyCommand(cmd, word); likely != "" {
		instead = "did you mean `" + likely + "`?"
	}
	return usageError{fmt.Errorf("%s is not a command; %s", plan.Quote(cmd.CommandPath()+" "+word), instead)}
}

// likelyCommand returns the command that an unknown word of a group probably means, "" if none is near.
func likelyCommand(cmd *cobra.Command, word string) string {
	likely := map[string]string{ // words that newcomers try
		"watch": "show --watch", "list": "plan list", "ls": "plan list", "history": "log", "install": "init", "new": "start",
		"undo": "plan restore", "restore": "plan restore", "plans": "plan list", "diff": "plan diff", "events": "log --events",
		"setup": "start", "next": "step next", "logs": "step logs", "skip": "step skip", "retry": "step retry", "recover": "step settle",
		"inbox": "review", "ui": "review", "web": "review", "add": "step add", "mark": "step mark", "claim": "step claim",
		"done": "step mark STEP done", "step done": "step mark STEP done", "step complete": "step mark STEP done",
		"step finish": "step mark STEP done", "step start": "step mark STEP in_progress", "step show": "show STEP", "step list": "show",
		"step status": "show STEP", "plan show": "show", "plan approve": "approve", "plan reject": "reject", "plan new": "start",
		"plan log": "log",
	}
	name, path := cmd.Root().Name()+" ", cmd.CommandPath()+" "
	if known, ok := likely[strings.TrimPrefix(path, name)+strings.ToLower(word)]; ok {
		return name + known
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return path + near[0]
	}
	return ""
}

func commandGroup(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return missing(cmd, "a command")
	}
	cmd.AddCommand(commands...)
	return cmd
}

// commandName returns a command's path without "planloop", as messages begin: the line already starts with that name.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// refusePlaceholders refuses placeholders copied from planloop's own texts. named are the arguments as the help writes them.
func refusePlaceholders(named string, run runner) runner {
	return func(cmd *cobra.Command, args []string) error {
		var faults plan.Faults
		see := func(at, text string, names ...string) {
			if slices.ContainsFunc(names, func(name string) bool { return strict.Placeholder(text, strings.Trim(name, ".[]")) }) {
				faults.Add(plan.Refuse(plan.InvalidInput, at, plan.Quote(text)+" is a placeholder", "give the text itself"))
			}
		}
		for _, arg := range args {
			see("", arg, append(strings.Fields(named), "")...)
		}
		cmd.Flags().Visit(func(flag *pflag.Flag) {
			given := []string{flag.Value.String()}
			if several, ok := flag.Value.(*texts); ok {
				given = *several
			}
			shown, _ := pflag.UnquoteUsage(flag)
			for _, text := range given {
				see("/"+flag.Name, text, flag.Name, strings.ToLower(shown))
			}
		})
		if err := faults.Err(); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	return atMost(0, "no arguments")(cmd, args)
}

func atMostOne(what string) cobra.PositionalArgs { return atMost(1, what+" and nothing more") }

func atMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return usageError{fmt.Errorf("%s takes %s, got %s; see `%s --help`", commandName(cmd), what, plan.Quote(args[n]),
			cmd.CommandPath())}
	}
}

func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return missing(cmd, what)
	}
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == n:
			return nil
		case len(args) < n:
			return missing(cmd, what)
		}
		return usageError{fmt.Errorf("%s needs %s and nothing more, got %s; put text with spaces in quotes", commandName(cmd), what,
			plan.Quote(args[n]))}
	}
}

func missing(cmd *cobra.Command, what string) error {
	return usageError{fmt.Errorf("%s needs %s; see `%s --help`", commandName(cmd), what, cmd.CommandPath())}
}

// texts is a repeatable flag. The library's own one formats its empty default as CSV, which costs a buffer for each flag.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ", ") }

func (t *texts) Set(text string) error { *t = append(*t, text); return nil }

func (t *texts) Type() string { return "stringArray" }

// complete offers words for the value of a flag. offer never fails: a shell cannot show an error.
func complete(cmd *cobra.Command, flag string, offer cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic("planloop: no flag --" + flag + " to complete") // a programming error that every test would hit
	}
}

func words[T interface{ Values() []string }](vocabulary T) cobra.CompletionFunc {
	return cobra.FixedCompletions(vocabulary.Values(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

func firstArgument(offer cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd, args, typed)
	}
}

func (a *app) completeMark(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return a.completeSteps(cmd, args, typed)
	case 1:
		return words(plan.StepStatus(""))(cmd, args, typed)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func described[T any](list []T, word func(T) (id, text string)) ([]string, cobra.ShellCompDirective) {
	const shown = 60
	var offers []string
	for _, item := range list {
		id, text := word(item)
		offers = append(offers, cobra.CompletionWithDesc(safetext.EscapeLine(id), safetext.EscapeLine(plan.Shorten(text, shown))))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func (a *app) completeSteps(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	state := a.peek(cmd.Context())
	finished := func(step *plan.Step) bool { return step.Status.IsFinished() }
	open := func(step *plan.Step) bool { return !step.Status.IsFinished() }
	steps := append(stepsWhere(state, open), stepsWhere(state, finished)...)
	return described(steps, func(s *plan.Step) (string, string) { return s.ID.String(), s.Title })
}

func (a *app) completePlans(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	rows := terminal.PlanRows(a.peek(cmd.Context()))
	return described(rows, func(r terminal.PlanRow) (string, string) { return r.ID, r.Objective })
}

func (a *app) completeQuestions(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return described(a.peek(cmd.Context()).OpenQuestions(), func(q plan.Question) (string, string) { return q.ID, q.Text })
}

func (a *app) completeFormer(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return described(a.peek(cmd.Context()).FormerPlans(), func(p plan.PastPlan) (string, string) { return p.ID, p.Objective })
}

// peek returns the state, or an empty one if it cannot be read. It prints nothing.
func (a *app) peek(ctx context.Context) plan.State {
	a.noWarnings = true
	_, state, err := a.state(ctx)
	if err != nil {
		return plan.State{}
	}
	return state
}
