package workspace

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// key is one key of the configuration: how it is read, and how far a workspace's own file may set it.
type key struct {
	name string
	// set applies the parts of a value that it understands and returns the faults. In a key that can be tightened, a
	// fault counts as the strictest value.
	set func(*Config, value) faults
	// admit compares a request by others than the user with the current settings, and may amend it; it returns the
	// reason to reject it. Nil: only the user may set the key.
	admit func(holds Config, asked *Config) string
	// restricts marks keys that restrict agents. An agent's shell can set variables and flags, so for these keys they
	// count as others' requests, as a workspace's own file always does.
	restricts bool
}

// keys lists all keys in the order of the documentation.
func keys() []key {
	return []key{
		{"toolsets", setToolsets, admitFewer, false},
		{"strategy", func(c *Config, v value) faults { return setWord(v, &c.Strategy) }, anything, false},
		{"gates", setGates, admitGates, true},
		choice("text", "ascii", "unicode", func(c *Config) *bool { return &c.Unicode }, false),
		choice("completion", "trust", "evidence", func(c *Config) *bool { return &c.NeedsEvidence }, true),
		choice("approval", "any", "person", func(c *Config) *bool { return &c.NeedsPerson }, true),
		timeout("approval_timeout", func(c *Config) *time.Duration { return &c.ApprovalTimeout }),
		timeout("gathering_timeout", func(c *Config) *time.Duration { return &c.GatheringTimeout }),
		choice("step_approval", "never", "ask", func(c *Config) *bool { return &c.AsksForSteps }, true),
		choice("hooks", "advised", "required", func(c *Config) *bool { return &c.HooksRequired }, true),
		patterns("read_only_tools", func(c *Config) *[]string { return &c.ReadOnlyTools }, checkToolPattern,
			"a list of names such as [mcp__github__get_issue, mcp__docs__search_*]"),
		patterns("read_only_commands", func(c *Config) *[]string { return &c.ReadOnlyCommands }, shell.CheckPattern,
			`a list of commands such as ["kubectl get *", "docker ps"]`),
		choice("reminders", "on", "off", func(c *Config) *bool { return &c.RemindersOff }, false),
		number("max_replans", 100, func(c *Config) *int { return &c.MaxReplans }),
		number("parallel", 64, func(c *Config) *int { return &c.Parallel }),
		{"lease", setLease, anything, false},
		{"agents_file", setAgentsFile, anything, false},
		{"mirror", setMirror, anything, false},
		section("agents", func(c *Config) *Section { return &c.Agents }, true),
		section("servers", func(c *Config) *Section { return &c.Servers }, true),
		section("model", func(c *Config) *Section { return &c.Model }, true),
		section("notify", func(c *Config) *Section { return &c.Notify }, true),
		section("store", func(c *Config) *Section { return &c.Store }, false),
	}
}

// Keys lists the names of all keys in the order of the documentation.
func Keys() []string {
	var names []string
	for _, k := range keys() {
		names = append(names, k.name)
	}
	return names
}

// Variable returns the environment variable that sets a key.
func Variable(key string) string { return "PLANLOOP_" + strings.ToUpper(key) }

func anything(Config, *Config) string { return "" }

// choice is a key with two words, for false and true. In a key that restricts agents, true is stricter.
func choice(name, no, yes string, of func(*Config) *bool, restricts bool) key {
	set := func(c *Config, v value) faults {
		word, wrong := v.oneOf([]string{no, yes})
		if wrong != nil && !restricts {
			return wrong
		}
		*of(c) = wrong != nil || word == yes
		return wrong.countAs(yes)
	}
	return key{name, set, func(holds Config, asked *Config) string {
		if restricts && *of(&holds) && !*of(asked) {
			return no + " is looser than " + yes
		}
		return ""
	}, restricts}
}

// timeout is a key for a time after which planning mode, and so the read-only phase, ends without an approval. The
// longer time is the stricter one; a repository that could set one second would end the phase.
func timeout(name string, of func(*Config) *time.Duration) key {
	set := func(c *Config, v value) faults {
		span, ok := v.duration()
		if !ok || span != 0 && span < time.Second || span > maxTimeout {
			*of(c) = 0 // never
			return v.refuse("is "+v.shown(), "give a time such as 30m or 1h30m, from 1s to 720h, or 0 for never").countAs("0 (never)")
		}
		*of(c) = span
		return nil
	}
	return key{name, set, func(holds Config, asked *Config) string {
		before, now := *of(&holds), *of(asked)
		if now == 0 || before != 0 && now >= before {
			return ""
		}
		than := before.String()
		if before == 0 {
			than = "never"
		}
		return now.String() + " ends the read-only phase sooner than " + than
	}, true}
}

func number(name string, highest int, of func(*Config) *int) key {
	return key{name, func(c *Config, v value) faults {
		text, _ := v.scalar()
		given, err := strconv.Atoi(text)
		if err != nil || given < 1 || given > highest {
			return v.refuse("is "+v.shown(), fmt.Sprintf("give a whole number from 1 to %d", highest))
		}
		*of(c) = given
		return nil
	}, anything, false}
}

func section(name string, of func(*Config) *Section, restricts bool) key {
	return key{name, func(c *Config, v value) faults {
		if v.node == nil {
			node, refusal := parseYAML(v.source, []byte(v.text))
			if refusal != nil {
				return faults{refusal}
			}
			if node == nil {
				return v.refuse("is blank", "give it a value or leave it out")
			}
			v.node = node
		}
		*of(c) = Section{v}
		return nil
	}, nil, restricts}
}

// value is a source's value for one key: a node of a file, or the text of an environment variable or flag.
type value struct {
	source string
	line   int
	key    string
	entry  string     // its name if it is in a mapping
	node   *yaml.Node // nil: the value is text
	text   string
	gates  []string // the names of all gates; nil if unknown
}

type faults []*ConfigError // the parts of a value that are not understood

func (v value) refuse(problem, want string) faults {
	return faults{{Source: v.source, Line: v.line, Key: v.key, Problem: problem, Want: want}}
}

// countAs sets the value that applies in a file instead of the faulty one.
func (f faults) countAs(value string) faults {
	for _, fault := range f {
		fault.countsAs = value
	}
	return f
}

// scalar returns the value as one word.
func (v value) scalar() (string, bool) {
	if v.node == nil {
		return strings.TrimSpace(v.text), true
	}
	return scalarText(v.node)
}

// elements returns the values of a list; in text they are separated by commas.
func (v value) elements() ([]value, bool) {
	var all []value
	if v.node == nil {
		for part := range strings.SplitSeq(v.text, ",") {
			v.text = part
			all = append(all, v)
		}
		return all, true
	}
	if v.node.Kind != yaml.SequenceNode {
		return nil, false
	}
	for _, node := range v.node.Content {
		v.node, v.line = node, node.Line
		all = append(all, v)
	}
	return all, true
}

// entries returns the values of a mapping; in text they are name=value, separated by commas.
func (v value) entries() ([]value, bool) {
	var all []value
	if v.node == nil {
		parts, _ := v.elements()
		for _, part := range parts {
			name, text, found := strings.Cut(part.text, "=")
			if !found {
				return nil, false
			}
			part.entry, part.text = strings.TrimSpace(name), text
			all = append(all, part)
		}
		return all, true
	}
	if v.node.Kind != yaml.MappingNode {
		return nil, false
	}
	for pair := range slices.Chunk(v.node.Content, 2) {
		v.entry, _ = scalarText(pair[0]) // yamlChecker has refused others
		v.line, v.node = pair[0].Line, pair[1]
		all = append(all, v)
	}
	return all, true
}

func (v value) oneOf(allowed []string) (string, faults) {
	want := "give one of " + strings.Join(allowed, ", ")
	word, ok := v.scalar()
	if !ok {
		return "", v.refuse("is not one word", want)
	}
	if !slices.Contains(allowed, word) {
		return "", v.refuse("is "+plan.Quote(word)+", which is unknown", didYouMean(word, allowed)+want)
	}
	return word, nil
}

func setWord[T vocabulary](v value, into *T) faults {
	word, wrong := v.oneOf((*into).Values())
	if wrong == nil {
		*into = T(word)
	}
	return wrong
}

// setStricter is setWord for words ordered from the loosest to the strictest.
func setStricter[T vocabulary](v value, into *T) faults {
	wrong := setWord(v, into)
	if wrong != nil {
		words := (*into).Values()
		*into = T(words[len(words)-1])
	}
	return wrong.countAs(string(*into))
}

func setToolsets(c *Config, v value) faults {
	all, ok := v.elements()
	if !ok {
		return v.refuse("is not a list", "give a list such as [planning, loop]")
	}
	var wrong faults
	asked := map[Toolset]bool{}
	for _, element := range all {
		var name Toolset
		if fault := setWord(element, &name); fault != nil {
			wrong = append(wrong, fault...)
			continue
		}
		asked[name] = true
	}
	if wrong != nil && len(asked) == 0 {
		return wrong // a server without tools is useless
	}
	c.Toolsets = []Toolset{}
	for _, name := range Toolset("").Values() {
		if asked[Toolset(name)] {
			c.Toolsets = append(c.Toolsets, Toolset(name))
		}
	}
	return wrong
}

// maxPatterns and maxPattern bound read_only_tools and read_only_commands.
const (
	maxPatterns = 200
	maxPattern  = 200
)

// patterns is a list of patterns that only the user may set. Invalid ones are left out: a misread pattern would allow too much.
func patterns(name string, of func(*Config) *[]string, check func(string) error, want string) key {
	return key{name, func(c *Config, v value) faults {
		all, ok := v.elements()
		if !ok {
			*of(c) = nil
			return v.refuse("is not a list", "give "+want).countAs("none")
		}
		var wrong faults
		var patterns []string
		if len(all) > maxPatterns {
			all, wrong = all[:maxPatterns], v.refuse(fmt.Sprintf("has more than %d patterns", maxPatterns), "use stars")
		}
		for _, element := range all {
			pattern, ok := element.scalar()
			fault := errors.New("give " + want)
			if ok && pattern != "" && len(pattern) <= maxPattern {
				fault = check(pattern)
			}
			if fault != nil {
				wrong = append(wrong, element.refuse("has "+element.shown()+", which is not a valid pattern", fault.Error())...)
				continue
			}
			patterns = append(patterns, pattern)
		}
		*of(c) = patterns
		return wrong
	}, nil, true}
}

// checkToolPattern returns the fault of a pattern of tool names, in which a star matches any characters.
func checkToolPattern(pattern string) error {
	if strings.Trim(pattern, lowerCase+"ABCDEFGHIJKLMNOPQRSTUVWXYZ.:/@*") != "" {
		return errors.New("give names of tools, with stars for any characters")
	}
	return nil
}

const lowerCase = "abcdefghijklmnopqrstuvwxyz0123456789_-" // of gates' names; tools' names have more

func admitFewer(holds Config, asked *Config) string {
	for _, name := range asked.Toolsets {
		if !slices.Contains(holds.Toolsets, name) {
			return "it adds the toolset " + string(name)
		}
	}
	return ""
}

func setGates(c *Config, v value) faults {
	text, isWord := v.scalar()
	if isWord && (v.node != nil || !strings.Contains(text, "=")) {
		asked := Gates{Asked: true}
		wrong := setStricter(v, &asked.Profile)
		c.Gates = asked
		return wrong
	}
	entries, ok := v.entries()
	if !ok {
		c.Gates = Gates{Profile: gates.Strict, Asked: true}
		return v.refuse("is neither a word nor a mapping",
			"give default, strict or lenient, or set gates one by one to error, warning or off").countAs(string(gates.Strict))
	}
	var wrong faults
	levels := map[string]gates.Level{}
	for _, entry := range entries {
		if fault := entry.checkGate(); fault != nil {
			wrong = append(wrong, fault...)
			continue
		}
		var level gates.Level
		entry.key += "." + entry.entry
		wrong = append(wrong, setStricter(entry, &level)...)
		levels[entry.entry] = level
	}
	if wrong == nil || len(levels) > 0 {
		c.Gates = Gates{Profile: gates.Default, Levels: levels, Asked: true}
	}
	return wrong
}

// checkGate refuses a name before a value that is not a gate's.
func (v value) checkGate() faults {
	name := v.entry
	if name == "" || len(name) > 64 || strings.Trim(name, lowerCase) != "" {
		return v.refuse("names "+plan.Quote(name)+", which is not the name of a gate",
			"use lower-case letters, digits, dashes and underscores")
	}
	if v.gates != nil && !slices.Contains(v.gates, name) {
		return v.refuse("names the gate "+plan.Quote(name)+", which does not exist",
			didYouMean(name, v.gates)+"the gates are "+strings.Join(v.gates, ", "))
	}
	return nil
}

func admitGates(holds Config, asked *Config) string {
	merged, why := holds.Gates.tighten(asked.Gates)
	if why != "" {
		return "it " + why
	}
	merged.Asked = merged.Asked || asked.Gates.Asked
	asked.Gates = merged
	return ""
}

const (
	maxTimeout = 30 * 24 * time.Hour
	maxLease   = 7 * 24 * time.Hour
)

func setLease(c *Config, v value) faults {
	span, ok := v.duration()
	if !ok || span < time.Second || span > maxLease {
		return v.refuse("is "+v.shown(), "give a time such as 30m or 2h, from 1s to 168h")
	}
	c.Lease = span
	return nil
}

func (v value) duration() (time.Duration, bool) {
	text, _ := v.scalar()
	span, err := time.ParseDuration(text)
	return span, err == nil && span >= 0
}

func (v value) shown() string {
	text, ok := v.scalar()
	if !ok {
		return "a list or a mapping"
	}
	return plan.Quote(text)
}

func setAgentsFile(c *Config, v value) faults {
	return setMarkdownFile(v, &c.AgentsFile, "docs/agents.md or AGENTS.md")
}

func setMirror(c *Config, v value) faults {
	if word, _ := v.scalar(); word == "none" {
		c.Mirror = ""
		return nil
	}
	return setMarkdownFile(v, &c.Mirror, "PLAN.md, or none")
}

// setMarkdownFile reads the path of a Markdown file in the workspace: planloop writes text there, which nothing may run or obey.
func setMarkdownFile(v value, into *string, example string) faults {
	name, _ := v.scalar()
	if len(name) > plan.MaxPath || !safetext.PrintableLine(name) || strings.Contains(name, ":") ||
		plan.PathProblem(name) != plan.PathOK || !tree.Markdown(name) {
		return v.refuse("is "+v.shown(), "give the path of a Markdown file inside the workspace, such as "+example)
	}
	*into = path.Clean(name)
	return nil
}

// didYouMean returns a question with the word that is probably meant, or "".
func didYouMean(given string, words []string) string {
	if word := safetext.Nearest(given, words); word != "" {
		return "did you mean " + word + "? "
	}
	return ""
}
