package workspace

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/spelling"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// value is what a source says about one key: a node of a file, or the text of
// an environment variable or flag.
type value struct {
	source string
	line   int
	key    string
	node   *yaml.Node // nil: text it is
	text   string
	gates  []string // the names of the gates there are, nil when unknown
}

func (v value) refuse(problem, want string) error {
	return &ConfigError{Source: v.source, Line: v.line, Key: v.key, Problem: problem, Want: want}
}

// scalar returns the value as one word.
func (v value) scalar() (string, bool) {
	if v.node == nil {
		return strings.TrimSpace(v.text), true
	}
	return scalarText(v.node)
}

// elements returns the values of a list; in text they stand between commas.
func (v value) elements() ([]value, bool) {
	if v.node == nil {
		return v.split(), true
	}
	if v.node.Kind != yaml.SequenceNode {
		return nil, false
	}
	all := make([]value, len(v.node.Content))
	for i, node := range v.node.Content {
		all[i] = v
		all[i].node, all[i].line = node, lineOf(node)
	}
	return all, true
}

func (v value) split() []value {
	var all []value
	for part := range strings.SplitSeq(v.text, ",") {
		one := v
		one.text = part
		all = append(all, one)
	}
	return all
}

// fields returns the values of a mapping by name; in text they are written
// name=value between commas.
func (v value) fields() ([]string, []value, bool) {
	if v.node == nil {
		return v.assignments()
	}
	entries, ok := mappingOf(v.node)
	if !ok {
		return nil, nil, false
	}
	var names []string
	var all []value
	for _, e := range entries {
		one := v
		one.node, one.line = e.value, e.line
		names, all = append(names, e.name), append(all, one)
	}
	return names, all, true
}

func (v value) assignments() (names []string, all []value, ok bool) {
	for _, one := range v.split() {
		name, text, found := strings.Cut(one.text, "=")
		if !found {
			return nil, nil, false
		}
		one.text = text
		names, all = append(names, strings.TrimSpace(name)), append(all, one)
	}
	return names, all, true
}

func setWord[T vocabulary](v value, into *T) error {
	allowed := (*into).Values()
	want := "give one of " + strings.Join(allowed, ", ")
	word, ok := v.scalar()
	if !ok {
		return v.refuse("is not one word", want)
	}
	if !slices.Contains(allowed, word) {
		return v.refuse("is "+plan.Quote(word)+", which is not known", didYouMean(word, allowed)+want)
	}
	*into = T(word)
	return nil
}

func setToolsets(c *Config, v value) error {
	all, ok := v.elements()
	if !ok {
		return v.refuse("is not a list", "give a list such as [planning, loop]")
	}
	asked := map[Toolset]bool{}
	for _, element := range all {
		var name Toolset
		if err := setWord(element, &name); err != nil {
			return err
		}
		asked[name] = true
	}
	c.Toolsets = []Toolset{}
	for _, name := range Toolset("").Values() {
		if asked[Toolset(name)] {
			c.Toolsets = append(c.Toolsets, Toolset(name))
		}
	}
	return nil
}

const wantGates = "give default, strict or lenient, or set gates one by one to error, warning or off"

func setGates(v value, into *Gates) error {
	word, isWord := v.scalar()
	if isWord && (v.node != nil || !strings.Contains(word, "=")) {
		gates := Gates{}
		if err := setWord(v, &gates.Profile); err != nil {
			return err
		}
		*into = gates
		return nil
	}
	names, levels, ok := v.fields()
	if !ok {
		return v.refuse("is neither a word nor a mapping", wantGates)
	}
	gates := Gates{Profile: DefaultProfile, Levels: map[string]Level{}}
	for i, name := range names {
		level, err := gateLevel(name, levels[i])
		if err != nil {
			return err
		}
		gates.Levels[name] = level
	}
	*into = gates
	return nil
}

func gateLevel(name string, v value) (Level, error) {
	if !gateName(name) {
		return "", v.refuse("names "+plan.Quote(name)+", which is not the name of a gate",
			"use lower-case letters, digits, dashes and underscores")
	}
	if v.gates != nil && !slices.Contains(v.gates, name) {
		return "", v.refuse("names the gate "+plan.Quote(name)+", which does not exist",
			didYouMean(name, v.gates)+"the gates are "+strings.Join(v.gates, ", "))
	}
	v.key += "." + name
	var level Level
	err := setWord(v, &level)
	return level, err
}

func gateName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

func setNumber(v value, into *int, low, high int) error {
	word, _ := v.scalar()
	number, err := strconv.Atoi(word)
	if err != nil || number < low || number > high {
		return v.refuse("is "+v.shown(), fmt.Sprintf("give a whole number from %d to %d", low, high))
	}
	*into = number
	return nil
}

const (
	longestTimeout = 30 * 24 * time.Hour
	longestLease   = 7 * 24 * time.Hour
)

// setTimeout reads a time after which something ends by itself; 0 is never.
func setTimeout(v value, into *time.Duration) error {
	span, ok := v.duration()
	if !ok || span != 0 && span < time.Second || span > longestTimeout {
		return v.refuse("is "+v.shown(), "give a time such as 30m or 1h30m, from 1s to 720h, or 0 for never")
	}
	*into = span
	return nil
}

func setLease(v value, into *time.Duration) error {
	span, ok := v.duration()
	if !ok || span < time.Second || span > longestLease {
		return v.refuse("is "+v.shown(), "give a time such as 30m or 2h, from 1s to 168h")
	}
	*into = span
	return nil
}

func (v value) duration() (time.Duration, bool) {
	word, ok := v.scalar()
	if !ok {
		return 0, false
	}
	span, err := time.ParseDuration(word)
	return span, err == nil && span >= 0
}

// shown is the value for a message.
func (v value) shown() string {
	word, ok := v.scalar()
	if !ok {
		return "a list or a mapping"
	}
	return plan.Quote(word)
}

// setAgentsFile takes a path below the workspace of a Markdown file: text is
// written there, so it must be nothing that something else runs or obeys.
func setAgentsFile(c *Config, v value) error {
	name, _ := v.scalar()
	if !markdownInside(name) {
		return v.refuse("is "+v.shown(), "give the path of a Markdown file inside the workspace, such as docs/agents.md or AGENTS.md")
	}
	c.AgentsFile = path.Clean(name)
	return nil
}

func markdownInside(name string) bool {
	if len(name) > plan.MaxPath || !safetext.PrintableLine(name) || strings.Contains(name, ":") ||
		plan.PathProblem(name) != plan.PathWithin || tree.InRepository(name) {
		return false
	}
	base := path.Base(name)
	extension := strings.ToLower(path.Ext(base))
	return len(base) > len(extension) && slices.Contains([]string{".md", ".mdc", ".markdown"}, extension)
}

// didYouMean returns a question after the word that is probably meant, or "".
func didYouMean(given string, words []string) string {
	if word := spelling.Nearest(given, words); word != "" {
		return "did you mean " + word + "? "
	}
	return ""
}

// Section is a part of the configuration that is decoded by the one who needs
// it. The zero value is a section that nobody wrote.
type Section struct {
	source string
	line   int
	key    string
	node   *yaml.Node
}

// Given reports whether somebody wrote the section.
func (s Section) Given() bool { return s.node != nil }

// Decode fills the struct that into points to, by its yaml tags, and refuses
// what it has no field for. A section that nobody wrote leaves it as it is. The
// error is a *ConfigError.
func (s Section) Decode(into any) error {
	if s.node == nil {
		return nil
	}
	err := guarded(func() error { return s.node.Load(into, yaml.WithKnownFields()) })
	if err == nil {
		return nil
	}
	refusal := &ConfigError{Source: s.source, Line: s.line, Key: s.key, Err: err}
	refusal.describe(err)
	refusal.Want = "correct it; the documentation lists what " + s.key + " takes"
	return refusal
}

func setSection(v value, into *Section) error {
	node := v.node
	if node == nil {
		parsed, err := parseValue(v)
		if err != nil {
			return err
		}
		node = parsed
	}
	*into = Section{source: v.source, line: v.line, key: v.key, node: node}
	return nil
}

// parseValue reads the text of a variable or flag as YAML.
func parseValue(v value) (*yaml.Node, error) {
	node, err := parseYAML(v.source, []byte(v.text))
	if err != nil {
		return nil, err
	}
	if node == nil {
		return nil, v.refuse("is blank", "give it a value or leave it out")
	}
	return node, nil
}
