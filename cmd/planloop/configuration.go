package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/workspace"
)

// newConfigurationTopic is help about the configuration; it is no command.
func newConfigurationTopic() *cobra.Command {
	topic := &cobra.Command{
		Use:   "configuration",
		Short: "The keys of the configuration, the gates, and how to name a model",
	}
	topic.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = configurationHelp() // which no other command has to pay for
		cmd.Parent().HelpFunc()(cmd, args)
	})
	return topic
}

// configurationKey says of a key what the table in workspace does not.
type configurationKey struct {
	name, values string // the default first
	what         string
}

func configurationKeys() []configurationKey {
	return []configurationKey{
		{"toolsets", "[planning, loop, mode]", "the tools that are offered over MCP"},
		{"strategy", "react | plan_act_reflect | goal_decompose_route_synthesise", "the way of working that is taught"},
		{"gates", "default | strict | lenient, or a map of gates", "how strictly added tasks are judged, see below"},
		{"text", "ascii | unicode", "what the planning tools accept as text"},
		{"completion", "trust | evidence", "whether a task may be done without proof"},
		{"approval", "any | person", "whose approval of a plan counts"},
		{"approval_timeout", "30m", "how long a submitted plan waits; 0: for ever"},
		{"gathering_timeout", "1h", "how long planning mode may be silent; 0: for ever"},
		{"max_replans", "3", "how often a plan may be revised before it has failed"},
		{"parallel", "4", "how many steps run at once"},
		{"lease", "30m", "how long a claim holds after its owner's last sign of life"},
		{"agents_file", "docs/agents.md", "where the rules for agents stand"},
		{"servers", "a section", "MCP servers whose tools may be used"},
		{"model", "a section", "the model that drafts, judges and suggests, see below"},
		{"notify", "a section", "who is told that a plan waits"},
		{"hooks", "a section", "hosts whose own tools are held back in planning mode"},
		{"store", "a section", "where the log is kept"},
	}
}

// modelExample is the section model with all its keys.
const modelExample = `  model:
    base_url: ` + llm.DefaultBaseURL + `  # any OpenAI-compatible endpoint
    model: gpt-4o-mini         # required: the name the endpoint knows
    api_key_env: ` + llm.DefaultAPIKeyEnv + `  # the variable that holds the key, or none
    timeout: 60s               # of one try
    retries: 2
    max_tokens: 8000           # of an answer; the endpoint's own limit unless set
    temperature: 0.2           # the endpoint's own unless set
    allow_http: false          # true allows http:// to another machine`

func configurationHelp() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("All keys are optional. They are read from flags, from variables such as")
	line("%s, from %s in the workspace, and from", workspace.Variable("gates"), workspace.FileName)
	line("planloop/config.yaml in the folder for configuration (~/.config on Linux); the")
	line("first that sets a key wins. The workspace's own file comes with a repository: it")
	line("may make things stricter, not looser, and set no key that ends in \"a section\".")
	line("\"planloop doctor\" names the file and what of it is ignored.")
	line("\nKeys, with their values, the default first:")
	for _, key := range configurationKeys() {
		line("\n  %s: %s", key.name, key.values)
		line("      %s", key.what)
	}
	line("\nGates, and what they do to added tasks by default:\n")
	for _, name := range gates.Names() {
		line("  %s: %s", name, gates.ByProfile(gates.Default, name))
		line("      %s", gates.Purpose(name))
	}
	line("\nEach can be error, warning or off:\n")
	line("  gates: {verifiable: error, oversize: \"off\"}")
	line("\nA model, in your own file:\n")
	b.WriteString(modelExample)
	return b.String()
}
