package workspace

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// Sources are the layers of the configuration.
type Sources struct {
	Flags     map[string]string   // by key; what was given on the command line
	Getenv    func(string) string // nil: os.Getenv
	Home      string              // "": the user's home directory
	Workspace Workspace           // whose own file is read; the zero value and the default workspace have none
	Gates     []string            // the names of the gates there are; nil: not checked
}

// Load returns the configuration: flags before environment variables, these
// before the workspace's own file, that before the user's file, that before the
// defaults. The workspace's own file comes with a repository from elsewhere: it
// may decide some keys, tighten others, and no more; what it asks for beyond
// that is ignored with a warning. Everything else that is not as it should be,
// in any layer, is a *ConfigError. A file that is not there costs one look.
func Load(s Sources) (Config, []Warning, error) {
	if s.Getenv == nil {
		s.Getenv = os.Getenv
	}
	l := loading{sources: s, keys: keys(), config: Defaults()}
	for _, layer := range []func() error{l.usersFile, l.ownFile, l.environment, l.flags} {
		if err := layer(); err != nil {
			return Config{}, nil, err
		}
	}
	return l.config, l.warnings, nil
}

// loading is a configuration on its way up through the layers.
type loading struct {
	sources  Sources
	keys     []key
	config   Config
	warnings []Warning
}

func (l *loading) usersFile() error {
	path, err := ConfigFile(l.sources.Getenv, l.sources.Home)
	if err != nil {
		return nil // without a home there is no such file
	}
	text, err := readUsers(path)
	if err != nil || text == nil {
		return err
	}
	return l.eachKey(path, text, l.take, func(_ field, err error) error { return err })
}

func (l *loading) ownFile() error {
	if l.sources.Workspace.Default || l.sources.Workspace.Path == "" {
		return nil
	}
	text, err := readOwn(l.sources.Workspace.Path)
	if err != nil || text == nil {
		return err
	}
	return l.eachKey(filepath.Join(l.sources.Workspace.Path, FileName), text, l.consider, l.overlook)
}

func (l *loading) environment() error {
	for _, k := range l.keys {
		text := l.sources.Getenv(Variable(k.name))
		if text == "" {
			continue
		}
		if err := l.take(k, l.text(Variable(k.name), k, text)); err != nil {
			return err
		}
	}
	return nil
}

func (l *loading) flags() error {
	for _, name := range slices.Sorted(maps.Keys(l.sources.Flags)) {
		k, err := l.key(name, "flags", 0)
		if err != nil {
			return err
		}
		if err := l.take(k, l.text("--"+strings.ReplaceAll(name, "_", "-"), k, l.sources.Flags[name])); err != nil {
			return err
		}
	}
	return nil
}

func (l *loading) text(source string, k key, text string) value {
	return value{source: source, key: k.name, text: text, gates: l.sources.Gates}
}

// overlook ignores a key of the workspace's own file that is not known: it may
// be of a newer planloop, and no repository is to stop the user's.
func (l *loading) overlook(f field, err error) error {
	var unknown *ConfigError
	if errors.As(err, &unknown) {
		l.warnings = append(l.warnings, Warning{File: unknown.Source, Line: f.line, Key: plan.Quote(f.name),
			Problem: "it is not known", Fix: unknown.Want})
	}
	return nil
}

// eachKey calls do for every key of a file that has a value, and missing for
// one that is not known.
func (l *loading) eachKey(path string, text []byte, do func(key, value) error, missing func(field, error) error) error {
	root, err := parseYAML(path, text)
	if err != nil || isNull(root) {
		return err
	}
	fields, ok := mappingOf(root)
	if !ok {
		return &ConfigError{Source: path, Line: lineOf(root), Problem: "is not a mapping", Want: "write key: value lines"}
	}
	for _, f := range fields {
		k, err := l.key(f.name, path, f.line)
		if err != nil {
			if err = missing(f, err); err != nil {
				return err
			}
			continue
		}
		if isNull(f.value) {
			continue
		}
		if err := do(k, value{source: path, line: f.line, key: k.name, node: f.value, gates: l.sources.Gates}); err != nil {
			return err
		}
	}
	return nil
}

func (l *loading) key(name, source string, line int) (key, error) {
	at := slices.IndexFunc(l.keys, func(k key) bool { return k.name == name })
	if at >= 0 {
		return l.keys[at], nil
	}
	return key{}, &ConfigError{Source: source, Line: line, Problem: "has the key " + plan.Quote(name) + ", which is not known",
		Want: didYouMean(name, Keys()) + "the keys are " + strings.Join(Keys(), ", ")}
}

// take sets a key from a layer that is the user's own.
func (l *loading) take(k key, v value) error { return k.set(&l.config, v) }

// consider sets a key from the workspace's file as far as that may decide it.
func (l *loading) consider(k key, v value) error {
	if k.admit == nil {
		l.ignore(v, "a workspace's own file comes with the repository and may not set it")
		return nil
	}
	asked := l.config
	if err := k.set(&asked, v); err != nil {
		return err
	}
	if why := k.admit(l.config, &asked); why != "" {
		l.ignore(v, why)
		return nil
	}
	l.config = asked
	return nil
}

func (l *loading) ignore(v value, why string) {
	fix := "if you want it, set " + Variable(v.key)
	if path, err := ConfigFile(l.sources.Getenv, l.sources.Home); err == nil {
		fix = "if you want it, set it in your own file, " + printable(path)
	}
	l.warnings = append(l.warnings, Warning{File: v.source, Line: v.line, Key: v.key, Problem: why, Fix: fix})
}
