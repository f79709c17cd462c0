package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/workspace"
)

// configurationHelp returns the help on the configuration.
func configurationHelp() string { return withGates(textsByPath()["configuration"]) }

// keyLine matches a key with its values in the list of keys in the help.
var keyLine = regexp.MustCompile(`(?m)^  ([a-z_]+): (.+)\n      `)

func documentedKeys() (names []string, values map[string]string) {
	keys, _, _ := strings.Cut(configurationHelp(), "\nGates, ")
	values = map[string]string{}
	for _, found := range keyLine.FindAllStringSubmatch(keys, -1) {
		names = append(names, found[1])
		values[found[1]] = found[2]
	}
	return names, values
}

// The help on the configuration names exactly the existing keys.
func TestConfigurationHelpIsWhole(t *testing.T) {
	if named, _ := documentedKeys(); !slices.Equal(named, workspace.Keys()) {
		t.Errorf("the keys are %q, the help names %q", workspace.Keys(), named)
	}
	text := configurationHelp()
	for _, gate := range gates.Names() {
		if !strings.Contains(text, "\n  "+gate+": ") {
			t.Errorf("the gate %s is not named", gate)
		}
	}
	for _, known := range []string{workspace.Variable("gates"), workspace.FileName} {
		if !strings.Contains(text, known) {
			t.Errorf("%s is not named", known)
		}
	}
	for of, section := range map[string]reflect.Type{"model": reflect.TypeFor[model.Config](), "agents": reflect.TypeFor[engine.Agent](),
		"servers": reflect.TypeFor[downstream.Server]()} {
		for field := range section.Fields() {
			key := field.Tag.Get("yaml")
			if key != "-" && !regexp.MustCompile(`(\n +|[ ,])`+key+`:(\s|$)`).MatchString(text) {
				t.Errorf("the key %s of %s is not named", key, of)
			}
		}
	}
}

// The examples in the help can be pasted.
func TestConfigurationHelpCanBePasted(t *testing.T) {
	var file strings.Builder
	_, examples, _ := strings.Cut(configurationHelp(), ", in your own file:\n\n")
	examples = strings.Replace(examples, "\nA model, in your own file: a program that reads a prompt and prints the answer:\n", "", 1)
	for line := range strings.SplitSeq(examples+"\n  gates: {verifiable: error, oversize: \"off\"}", "\n") {
		file.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	config := written(t, file.String())
	var asked model.Config
	must(t, config.Model.Decode(&asked))
	if err := asked.Validate(); err != nil {
		t.Error(err)
	}
	var started engine.AgentConfig
	servers, err := configuredServers(config.Servers)
	if err := errors.Join(err, errors.Join(servers.Faults()...), config.Agents.Decode(&started)); err != nil || len(servers) == 0 {
		t.Error(err)
	}
	if err := started.Validate(); err != nil || len(started) == 0 {
		t.Error(err)
	}
}

// For any value in the wrong place, the error gives its path, in the terms of the configuration, and does not repeat values, which may be
// secret.
func TestMistakesInSections(t *testing.T) {
	sections := map[string]struct {
		entry reflect.Type
		at    string // the form of an entry
		way   string
		into  func() any
	}{
		"model":  {reflect.TypeFor[model.Config](), "model: {%s}", "model.", func() any { return &model.Config{} }},
		"notify": {reflect.TypeFor[notify.Config](), "notify: {%s}", "notify.", func() any { return &notify.Config{} }},
		"agents": {reflect.TypeFor[engine.Agent](), "agents: {default: {%s}}", "agents.default.",
			func() any { return &engine.AgentConfig{} }},
		"servers": {reflect.TypeFor[downstream.Server](), "servers: {a: {%s}}", "servers.a.",
			func() any { return &downstream.Config{} }},
	}
	jargon := regexp.MustCompile(`!!|topsecret| into |cannot (construct|unmarshal|be read)|time\.|map\[|\[\]|` +
		`outbound|downstream|float|struct`)
	values := []string{"topsecret", "[[topsecret]]", "[{topsecret: 1}]", "{topsecret: [1]}", "{a: {b: topsecret}}", "7", "1.5", "true"}
	for name, section := range sections {
		keys := []string{"nonsense"}
		for field := range section.entry.Fields() {
			keys = append(keys, field.Tag.Get("yaml"))
		}
		said := 0
		for _, key := range keys {
			for _, value := range values {
				file := fmt.Sprintf(section.at, key+": "+value)
				config := written(t, file)
				all := map[string]workspace.Section{"model": config.Model, "agents": config.Agents, "servers": config.Servers}
				of, given := all[name]
				if !given {
					of = config.Notify
				}
				err := of.Decode(section.into())
				if err == nil {
					continue
				}
				said++
				if text := strings.ReplaceAll(err.Error(), ".topsecret ", ""); jargon.MatchString(text) ||
					!strings.Contains(text, "config.yaml:1: "+section.way) || !strings.Contains(text, "; ") {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
		if said < 3*len(keys) {
			t.Errorf("%s: of %d keys only %d mistakes were told", name, len(keys), said)
		}
	}
}

// written returns the configuration from a user's own file with that text.
func written(t *testing.T, text string) workspace.Config {
	t.Helper()
	home := t.TempDir()
	place := filepath.Join(home, "planloop", "config.yaml")
	must(t, errors.Join(os.Mkdir(filepath.Dir(place), 0o700), os.WriteFile(place, []byte(text), 0o600)))
	getenv := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home}[name] }
	config, warnings, err := workspace.Load(workspace.Sources{Getenv: getenv, Gates: gates.Names(), Account: t.TempDir()})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%s: %v, %v", text, err, warnings)
	}
	return config
}

// The documentation's examples of agents can be pasted.
func TestAgentsOfTheDocumentationCanBePasted(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/agents.md")
	must(t, err)
	_, example, _ := strings.Cut(string(text), "```yaml\nagents:")
	example, _, _ = strings.Cut(example, "```")
	config := written(t, "agents:"+example)
	var shown engine.AgentConfig
	must(t, config.Agents.Decode(&shown))
	started, err := engine.NewAgents(shown, engine.AgentOptions{})
	must(t, err)
	for _, name := range []string{"default", "codex", "opencode", "gemini"} {
		if got, ok := started.For(name); got != name || !ok || len(shown[name].Command) < 2 {
			t.Errorf("%s: %q, %q", name, got, shown[name].Command)
		}
	}
	if started.Starts("gemini") != 20 || shown["gemini"].Timeout != 30*time.Minute {
		t.Errorf("%+v", shown["gemini"])
	}
}

// Defaults come first.
func TestConfigurationHelpKnowsTheDefaults(t *testing.T) {
	d := workspace.Defaults()
	word := func(set bool, no, yes string) string { return map[bool]string{false: no, true: yes}[set] }
	for key, want := range map[string]string{
		"strategy": string(d.Strategy), "gates": string(d.Gates.Profile), "text": word(d.Unicode, "ascii", "unicode"),
		"completion": word(d.NeedsEvidence, "trust", "evidence"), "approval": word(d.NeedsPerson, "any", "person"),
		"agents_file": d.AgentsFile,
	} {
		if _, values := documentedKeys(); !strings.HasPrefix(values[key], want) {
			t.Errorf("%s: the default is %s", key, want)
		}
	}
}
