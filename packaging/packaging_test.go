package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/testenv"
)

// TestFilesAreCurrent fails when a committed file is not what the generator makes.
func TestFilesAreCurrent(t *testing.T) {
	const way = "run go generate ./packaging"
	all := generate()
	for path, want := range all {
		got, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Errorf("%v: %s", err, way)
		} else if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is stale: %s\n%s", path, way, diff)
		}
	}
	for _, path := range stale("..", all) {
		t.Errorf("nobody makes %s any more: %s", path, way)
	}
}

// TestPluginsStandAlone holds what hosts refuse silently.
func TestPluginsStandAlone(t *testing.T) {
	all := generate()
	for path := range all {
		if path == "packaging/codex/plugin.json" || path == "packaging/claude/plugin.json" || path == "plugin.json" {
			t.Errorf("%s disables the hooks of Codex", path)
		}
	}
	var codex, agents map[string]any
	read(t, all["packaging/codex/hooks/hooks.json"], &codex)
	if len(codex) != 1 || codex["hooks"] == nil {
		t.Errorf("Codex takes no other key than hooks: %v", codex)
	}
	read(t, all["packaging/agent-plugin/plugin.json"], &agents)
	for key := range agents {
		if !slices.Contains([]string{"$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords",
			"extensions"}, key) {
			t.Errorf("Agent Plugins 1.0 has no member %s", key)
		}
	}
	var hooks struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	read(t, all["packaging/claude/hooks/hooks.json"], &hooks)
	for _, event := range hook.Events(hook.Claude) {
		groups := hooks.Hooks[event.Native]
		if len(groups) != 1 || !strings.HasPrefix(groups[0].Hooks[0].Command, "planloop hook claude "+event.Name) {
			t.Errorf("the plugin of Claude Code does not listen to %s: %v", event.Native, groups)
		}
	}
	if len(hooks.Hooks) == 0 {
		t.Error("the plugin of Claude Code has no hooks")
	}
}

// TestRegistryEntry holds the rules of the registry's schema of 2025-12-11 that constants could break.
func TestRegistryEntry(t *testing.T) {
	var entry struct {
		Name, Description, Title, Version string
		Packages                          []struct{ RegistryType, Identifier, Version string }
	}
	read(t, generate()["packaging/server.json"], &entry)
	if !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(entry.Name) || len(entry.Name) > 200 {
		t.Errorf("the name %q", entry.Name)
	}
	if n := len(entry.Description); n == 0 || n > 100 {
		t.Errorf("the description has %d characters, want at most 100", n)
	}
	var npm map[string]any
	read(t, generate()["packaging/npm/planloop/package.json"], &npm)
	if npm["mcpName"] != entry.Name || npm["version"] != entry.Version || entry.Packages[0].Identifier != npm["name"] ||
		entry.Packages[0].Version != entry.Version {
		t.Errorf("the package of npm does not prove that the entry %v is its own: %v", entry, npm)
	}
}

// TestPluginsWithoutProgram: without planloop on the PATH, a plugin says at the start of a session what to install, and blocks nothing.
func TestPluginsWithoutProgram(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	for name, plugin := range map[string]files{"claude": claudePlugin(), "codex": codexPlugin()} {
		var file struct {
			Hooks map[string][]struct{ Hooks []struct{ Command string } }
		}
		read(t, plugin["hooks/hooks.json"], &file)
		for event, groups := range file.Hooks {
			cmd := exec.CommandContext(t.Context(), sh, "-c", groups[0].Hooks[0].Command)
			cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader("{}")
			cmd.Env = []string{"PATH=/bin", "HOME=" + cmd.Dir}
			out, err := cmd.Output()
			if err != nil || event != "SessionStart" && len(out) > 0 {
				t.Errorf("%s, %s: %v, printed %q", name, event, err, out)
			}
			if event == "SessionStart" {
				var notice map[string]string
				read(t, out, &notice)
				if text := notice["systemMessage"]; !strings.Contains(text, "Install it") || strings.Contains(text, "\n") {
					t.Errorf("%s says %q", name, text)
				}
			}
		}
	}
}

// TestSkillIsASkill reads the front matter as hosts of skills do.
func TestSkillIsASkill(t *testing.T) {
	front, body, ok := strings.Cut(strings.TrimPrefix(string(skill()), "---\n"), "\n---\n")
	var fields struct {
		Name, Description, License, Compatibility string
		Metadata                                  map[string]string
	}
	loader, err := yaml.NewLoader(strings.NewReader(front), yaml.WithKnownFields())
	if err == nil {
		err = loader.Load(&fields)
	}
	if err != nil || !ok {
		t.Fatalf("the front matter cannot be read: %v", err)
	}
	if fields.Name != "planloop" || len(fields.Description) > 1024 || fields.Description == "" || len(fields.Compatibility) > 500 {
		t.Errorf("the front matter is %+v", fields)
	}
	if lines := strings.Count(body, "\n"); lines > 130 {
		t.Errorf("the skill has %d lines, which every agent reads that uses it", lines)
	}
}

// TestSkillRuns runs every command of the skill as it stands, in a project that has the files it names.
func TestSkillRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the skill is for a POSIX shell")
	}
	if testing.Short() {
		t.Skip("it builds the program")
	}
	script := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(skill()), -1)
	if len(script) < 7 {
		t.Fatalf("only %d blocks of commands were found", len(script))
	}
	dir := t.TempDir()
	text := "set -euo pipefail\n"
	for _, block := range script {
		text += block[1]
	}
	for path, content := range map[string]string{"app/src/login.go": "package login\n", "app/README.md": "# App\n", "app/.git/HEAD": ""} {
		testenv.Check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		testenv.Check(t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o644))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", text)
	cmd.Dir = filepath.Join(dir, "app")
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program(t))+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_STATE_HOME="+dir+"/state",
		"XDG_CONFIG_HOME="+dir+"/config", "PLANLOOP_AGENT=skilled", "PLANLOOP_WORKSPACE=")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("awaiting_approval")) {
		t.Errorf("%v\n%s\nof\n%s", err, out, text)
	}
}

func read(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

// program is planloop itself, built once.
func program(t *testing.T) string {
	t.Helper()
	path := testenv.Must(built())(t)
	return path
}

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "planloop-packaging-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "planloop")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, "../cmd/planloop").CombinedOutput()
	if err != nil {
		err = errors.Join(err, errors.New(string(out)))
	}
	return path, err
})

func TestMain(m *testing.M) {
	code := testenv.Fixed{Tests: m}.Run()
	if path, _ := built(); path != "" {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}
