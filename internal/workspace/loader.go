package workspace

import (
	"cmp"
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

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Sources are the layers of the configuration.
type Sources struct {
	Flags     map[string]string // from the command line, by key
	Getenv    func(string) string
	Home      string    // "": the user's home directory
	Account   string    // the user's home directory according to the system; "": look it up
	Workspace Workspace // its own file is read; the zero value and the default workspace have none
	Gates     []string  // the names of all gates; nil: not checked
}

// Load returns the configuration. Flags override environment variables, these the workspace's own file, that the user's
// file, and that the defaults. Only the user's file can loosen restrictions on agents: an agent can set all layers
// above it, so there such settings count only if they are stricter. An agent can also redirect to another user's file,
// so the file of the user's account tightens too. An unknown key or word in a file is skipped with a warning; if the
// key can be tightened it counts as the strictest value. The workspace's own file comes with a repository: it may set
// some keys and tighten others, and anything beyond that is ignored with a warning. Any other fault, in any layer, is
// an error, also a *ConfigError. A missing file costs one look.
func Load(s Sources) (Config, []*ConfigError, error) {
	l := loader{sources: s, keys: keys(), config: Defaults()}
	for _, layer := range []func() error{l.userFile, l.accountFile, l.workspaceFile, l.environment, l.flags} {
		if err := layer(); err != nil {
			return Config{}, nil, err
		}
	}
	return l.config, l.warnings, nil
}

type loader struct {
	sources  Sources
	keys     []key
	config   Config
	warnings []*ConfigError
}

func (l *loader) userFile() error {
	path, err := ConfigFile(l.sources.Getenv, l.sources.Home)
	if err != nil {
		return nil // without a home there is no user's file
	}
	text, err := readUsers(path)
	if err != nil || text == nil {
		return err
	}
	return l.file(path, text, false)
}

// accountFile applies the restrictions from the file in the account's own folder if the environment points to another
// file. It changes nothing else, and ignores faults, which are reported where the file is the user's.
func (l *loader) accountFile() error {
	account := cmp.Or(l.sources.Account, accountHome())
	if account == "" {
		return nil
	}
	path := filepath.Join(platformFolder(account, ".config"), appName, configName)
	if users, err := ConfigFile(l.sources.Getenv, l.sources.Home); err == nil && users == path {
		return nil
	}
	text, err := readUsers(path)
	floor := loader{sources: l.sources, keys: slices.DeleteFunc(keys(), func(k key) bool { return !k.restricts }), config: l.config}
	if err == nil && floor.file(path, text, true) == nil {
		l.config = floor.config
	}
	return nil
}

func (l *loader) workspaceFile() error {
	dir := l.sources.Workspace.Path
	if l.sources.Workspace.Default || dir == "" {
		return nil
	}
	text, err := readOwn(dir)
	if err != nil || text == nil {
		return err
	}
	return l.file(filepath.Join(dir, FileName), text, true)
}

func (l *loader) environment() error {
	for _, k := range l.keys {
		if text := l.sources.Getenv(Variable(k.name)); text != "" {
			if err := l.setFromText(k, Variable(k.name), text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) flags() error {
	for _, name := range slices.Sorted(maps.Keys(l.sources.Flags)) {
		k, ok := l.key(name)
		if !ok {
			return &ConfigError{Source: "flags", Problem: "has the key " + plan.Quote(name) + ", which is unknown", Want: knownKeys(name)}
		}
		if err := l.setFromText(k, "--"+strings.ReplaceAll(name, "_", "-"), l.sources.Flags[name]); err != nil {
			return err
		}
	}
	return nil
}

// setFromText sets a key from a variable or a flag. Any fault there is an error.
func (l *loader) setFromText(k key, source, text string) error {
	asked, v := l.config, value{source: source, key: k.name, text: text, gates: l.sources.Gates}
	if wrong := k.set(&asked, v); wrong != nil {
		return wrong[0]
	}
	l.admit(k, v, asked, k.restricts)
	return nil
}

// file applies the keys of a file, which is the user's or another source's.
func (l *loader) file(path string, text []byte, others bool) error {
	root, refusal := parseYAML(path, text)
	if refusal != nil {
		return refusal
	}
	if isNull(root) {
		return nil
	}
	entries, ok := value{source: path, node: root, gates: l.sources.Gates}.entries()
	if !ok {
		return &ConfigError{Source: path, Line: root.Line, Problem: "is not a mapping", Want: "write key: value lines"}
	}
	for _, v := range entries {
		k, known := l.key(v.entry)
		if !known { // it may belong to a newer planloop
			v.key = plan.Quote(v.entry)
			l.warn(v.refuse("ignored: it is unknown", knownKeys(v.entry)))
		} else if !isNull(v.node) {
			v.key = k.name
			l.setFromFile(k, v, others)
		}
	}
	return nil
}

func (l *loader) key(name string) (key, bool) {
	at := slices.IndexFunc(l.keys, func(k key) bool { return k.name == name })
	if at < 0 {
		return key{}, false
	}
	return l.keys[at], true
}

func knownKeys(given string) string {
	return didYouMean(given, Keys()) + "the keys are " + strings.Join(Keys(), ", ")
}

// setFromFile sets a key from a file as far as it is understood.
func (l *loader) setFromFile(k key, v value, others bool) {
	asked := l.config
	wrong := k.set(&asked, v)
	for _, fault := range wrong {
		if fault.countsAs == "" {
			fault.Want += "; until then it is ignored"
		} else {
			fault.Want += "; until then it counts as " + fault.countsAs
		}
	}
	if !others || k.admit != nil {
		l.warn(wrong)
	}
	l.admit(k, v, asked, others)
}

// admit applies a setting, unless others than the user ask for more than they may.
func (l *loader) admit(k key, v value, asked Config, others bool) {
	why := ""
	if others && k.admit == nil {
		why = "only your own file may set it"
	} else if others {
		if why = k.admit(l.config, &asked); why != "" {
			why += ", and only your own file may loosen it"
		}
	}
	if why == "" {
		l.config = asked
		return
	}
	fix := "if you want it, set it there"
	if path, err := ConfigFile(l.sources.Getenv, l.sources.Home); err == nil {
		fix += ": " + safetext.EscapeLine(path)
	}
	l.warn(v.refuse("ignored: "+why, fix))
}

// warn keeps the first warnings: a file of nonsense need not be listed in full.
func (l *loader) warn(about faults) {
	const maxWarnings = 20
	l.warnings = append(l.warnings, about[:min(len(about), maxWarnings-len(l.warnings))]...)
}

// ConfigError describes a fault in the configuration, or in the choice of the workspace, and its place. As an error it voids
// the whole configuration, as a warning the rest applies.
type ConfigError struct {
	Source  string // the file, the environment variable, the flag or the directory
	Line    int    // in the file; 0 if unknown
	Key     string // "" if it concerns the whole source
	Problem string
	Want    string // an acceptable value, or the fix
	Err     error  // the cause; may be nil

	countsAs string // the value that replaces it in a file, or ""
}

// Error returns the place, the problem and the fix in one line.
func (e *ConfigError) Error() string {
	where, what := safetext.EscapeLine(e.Source), e.Problem
	if e.Line > 0 {
		where += fmt.Sprintf(":%d", e.Line)
	}
	if e.Key != "" {
		what = e.Key + " " + what
	}
	if e.Want != "" {
		what += "; " + e.Want
	}
	return where + ": " + what
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// FileName is the name of the workspace's own configuration file.
const FileName = ".planloop.yaml"

// readOwn returns the text of the workspace's own file, or nil. The directory is untrusted: it opens only a plain file inside.
func readOwn(dir string) ([]byte, error) {
	path := filepath.Join(dir, FileName)
	linked, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer root.Close()
	info, err := root.Stat(FileName)
	if err != nil && linked != nil && linked.Mode()&fs.ModeSymlink != 0 {
		return nil, &ConfigError{Source: path, Problem: "is a link that leads out of the workspace or nowhere",
			Want: "put a file there, or link to one inside by a relative path", Err: err}
	}
	return readPlain(path, info, err, func() (*os.File, error) { return root.Open(FileName) })
}

// readUsers returns the text of the user's file, or nil. If the file exists but cannot be read it is an error: ignoring
// it would make a policy looser than the user wrote.
func readUsers(path string) ([]byte, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	info, err := os.Stat(path)
	// It names commands to run, so a world-writable file must not be obeyed.
	if err == nil && info.Mode().IsRegular() && runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return nil, &ConfigError{Source: path, Problem: "can be written by anyone on this machine", Want: "run chmod o-w on it"}
	}
	return readPlain(path, info, err, func() (*os.File, error) { return os.Open(path) })
}

// readPlain reads a regular file, and one byte more than allowed, so that excess is noticed. info and err come from the file's stat.
func readPlain(path string, info fs.FileInfo, err error, open func() (*os.File, error)) ([]byte, error) {
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would block
		return nil, &ConfigError{Source: path, Problem: "is not a plain file", Want: "put a plain file there"}
	}
	var file *os.File
	if err == nil {
		file, err = open()
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return text, nil
}

func unreadable(path string, err error) error {
	return &ConfigError{Source: path, Problem: "cannot be read: " + safefile.Cause(err).Error(), Want: "make it readable", Err: err}
}
