package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
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
		fix = "if you want it, set it in your own file, " + safetext.EscapeLine(path)
	}
	l.warnings = append(l.warnings, Warning{File: v.source, Line: v.line, Key: v.key, Problem: why, Fix: fix})
}

// ConfigError says what is wrong with the configuration, and where. Nothing of
// it is in force.
type ConfigError struct {
	Source  string // the file, the environment variable or the flag
	Line    int    // in the file, 0 when unknown
	Key     string // "" when it is about the whole source
	Problem string
	Want    string // what would be accepted, or what to do
	Err     error  // the cause, may be nil
}

// Error says where, what, and what is wanted, in one line.
func (e *ConfigError) Error() string {
	var b strings.Builder
	b.WriteString(safetext.EscapeLine(e.Source))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + " ")
	}
	b.WriteString(e.Problem)
	if e.Want != "" {
		b.WriteString("; " + e.Want)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// Warning is about a key of the workspace's own file that was ignored.
type Warning struct {
	File    string
	Line    int
	Key     string
	Problem string // why it was ignored
	Fix     string // where it belongs
}

// String says which key of which file was ignored, why, and where it belongs.
func (w Warning) String() string {
	return fmt.Sprintf("%s:%d: %s ignored: %s; %s", safetext.EscapeLine(w.File), w.Line, w.Key, w.Problem, w.Fix)
}

// FileName is the name of the workspace's own configuration file.
const FileName = ".planloop.yaml"

// readOwn returns the text of the workspace's own file, nil when there is none.
// The directory came from a stranger: nothing outside it is opened, and nothing
// that is not a plain file.
func readOwn(dir string) ([]byte, error) {
	path := filepath.Join(dir, FileName)
	linked, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer root.Close()
	info, err := root.Stat(FileName)
	if err != nil && linked.Mode()&fs.ModeSymlink != 0 {
		return nil, &ConfigError{Source: path, Problem: "is a link that leads out of the workspace or nowhere",
			Want: "put a file there, or link to one inside by a relative path", Err: err}
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, notPlain(path)
	}
	file, err := root.Open(FileName)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return readAll(path, file)
}

// readUsers returns the text of the user's file, nil when there is none. A file
// that is there and cannot be read is an error: without it a policy would be
// looser than the user wrote.
func readUsers(path string) ([]byte, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, notPlain(path)
	}
	// It names commands to run, so what anybody can write must not be obeyed.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return nil, &ConfigError{Source: path, Problem: "can be written by everybody on this machine", Want: "run chmod o-w on it"}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return readAll(path, file)
}

// readAll reads one byte more than is allowed, so that too much is noticed.
func readAll(path string, file *os.File) ([]byte, error) {
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return text, nil
}

func notPlain(path string) error {
	return &ConfigError{Source: path, Problem: "is not a plain file", Want: "put a file there or remove it"}
}

func unreadable(path string, err error) error {
	cause := err
	if detail := (*fs.PathError)(nil); errors.As(err, &detail) {
		cause = detail.Err
	}
	return &ConfigError{Source: path, Problem: "cannot be read: " + cause.Error(), Want: "make it readable or remove it", Err: err}
}
