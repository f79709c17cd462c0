package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/safefile"
)

// Refusal says why a file is left unchanged, and how to fix that.
type Refusal struct{ Path, Problem, Fix string }

func (r *Refusal) Error() string { return r.Path + " " + r.Problem }

// ErrChanged means that another program wrote the file after it was read.
var ErrChanged = errors.New("another program changed the file at the same time")

// Limits of the size of a file, in bytes. Claude Code kept the history of its projects in the file that names its servers,
// which grew to 65 MB; all other files of hosts stay well below a megabyte.
const (
	maxFile    = 2 << 20
	maxHistory = 64 << 20
)

// checkPlain refuses all but regular files, since a pipe would block, and files so large that reading them could take minutes.
func checkPlain(path string, info fs.FileInfo) error {
	bound := int64(maxFile)
	if filepath.Base(path) == claudeHistory {
		bound = maxHistory
	}
	switch {
	case !info.Mode().IsRegular():
		return &Refusal{path, "is not a regular file", "move it away"}
	case info.Size() > bound:
		return &Refusal{path, fmt.Sprintf("is larger than %d MB", bound>>20), "check its content, then shorten or move it"}
	}
	return nil
}

// read reads the file of an edit, if it exists. What cannot be written without harm is a Refusal, unless init has nothing to remove.
func (m Machine) read(e *Edit, remove bool) error {
	path, target := e.Path, e.Path
	_, err := filepath.EvalSymlinks(path)
	if missing, ok := errors.AsType[*fs.PathError](err); ok && remove && errors.Is(err, fs.ErrNotExist) && !m.hasRecord(missing.Path) {
		return nil
	}
	if link := m.linkInProject(path); e.scope == Project && link != "" {
		return &Refusal{path, "is reached through a link (" + m.Short(link) + "), and planloop follows no links in a project",
			"replace the link with a file or folder"}
	}
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return &Refusal{path, "is a broken link", "repair or remove the link"}
		}
		info, err = os.Stat(target)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = checkPlain(path, info)
	}
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o200 == 0 {
		return &Refusal{path, "is read-only", "make it writable (chmod u+w), or add the lines of --dry-run where the file is generated"}
	}
	if owner, others := ownedByOthers(info); others {
		return &Refusal{path, fmt.Sprintf("belongs to another user (%d)", owner), "run this as its owner"}
	}
	text, err := readAll(target)
	if err == nil {
		e.Target, e.Exists, e.info, e.Before = target, true, info, text
	}
	return err
}

func readAll(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = checkPlain(path, info)
	}
	if err != nil {
		return nil, err
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, maxHistory)) // it may have grown since the check
}

// linkInProject returns the outermost link below the project on the way to a path, which need not exist; "" without a link.
// A link may lead out of the project, or to a file that belongs to another program, such as git. On Windows, junctions count too.
func (m Machine) linkInProject(path string) (link string) {
	for up := filepath.Dir(path); path != m.Project && up != path; path, up = up, filepath.Dir(up) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			link = path
		}
	}
	return link
}

// readSettings reads a JSON file that planloop does not write.
func readSettings(file string) (map[string]any, error) {
	text, err := readAll(file)
	if err != nil {
		return nil, err
	}
	d, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	all, _ := d.value().(map[string]any)
	return all, nil
}

// jsonSetting returns the value at a path of a JSON file, nil if the path or the file cannot be read.
func jsonSetting(file string, path ...string) any {
	all, _ := readSettings(file)
	value, _ := lookUp(all, path...)
	return value
}

// tomlSettings returns the settings in a TOML file, which are empty if it cannot be read.
func tomlSettings(file string) settingsTOML {
	text, _ := readAll(file) // a missing file has no settings
	all, _ := readTOML(text)
	return all
}

// inFiles returns an obstacle for each file that has it.
func (m Machine) inFiles(problem string, has func(file string) bool, files ...string) (found []string) {
	for _, file := range files {
		if has(file) {
			found = append(found, m.Short(file)+problem)
		}
	}
	return found
}

func lookUp(value any, path ...string) (found any, ok bool) {
	for _, name := range path {
		members, _ := value.(map[string]any)
		if value, ok = members[name]; !ok {
			return nil, false
		}
	}
	return value, true
}

// countUntrusted counts hooks that Codex's settings do not trust. Only Codex can tell whether the trust covers a hook's current text.
func (m Machine) countUntrusted(file, config string) int {
	state, count := tomlSettings(config), 0
	for _, e := range hook.Events(hook.Codex) {
		for _, s := range m.findHooks(hook.Codex, jsonSetting(file, "hooks", e.Native)) {
			name := fmt.Sprintf("%s:%s:%d:%d", file, strings.ReplaceAll(e.Name, "-", "_"), s.element, max(s.index, 0))
			if state.text("hooks", "state", name, "trusted_hash") == "" {
				count++
			}
		}
	}
	return count
}

// record remembers a file or folder that init wrote, with the parts that --remove may delete.
type record struct {
	Path    string            `json:"path"`
	Created bool              `json:"created,omitempty"` // it did not exist before
	Parts   map[string]string `json:"parts,omitempty"`   // the texts that init wrote, by path
}

func newRecord(path string) record { return record{Path: path, Parts: map[string]string{}} }

func hashText(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

func (m Machine) recordPath(target, ending string) string {
	return filepath.Join(m.Ledger, hashText(target)[:16]+ending)
}

// hasRecord reports whether init has written a file and not removed its part since.
func (m Machine) hasRecord(target string) bool {
	_, err := os.Lstat(m.recordPath(target, ".json"))
	return !errors.Is(err, fs.ErrNotExist)
}

func (m Machine) readRecord(target string) (record, error) {
	known := newRecord(target)
	data, err := safefile.Read(m.recordPath(target, ".json"), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err == nil && (known.Path != target || known.Parts == nil) {
		err = errors.New("the record is damaged")
	}
	if err != nil {
		return known, fmt.Errorf("read the record of %s: %w", target, err)
	}
	return known, nil
}

func (m Machine) writeRecord(r record) error {
	data, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	return m.writePrivate(m.recordPath(r.Path, ".json"), data)
}

func (m Machine) writePrivate(path string, data []byte) error {
	err := safefile.MakeFolder(m.Ledger)
	if err == nil {
		err = safefile.WriteFile(path, data, safefile.Options{Mode: safefile.FileMode})
	}
	if err != nil {
		return fmt.Errorf("write init's record: %w", err)
	}
	return nil
}

func (m Machine) removeRecord(target string) error {
	if err := os.Remove(m.recordPath(target, ".json")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeFolders creates the missing folders above a file and records them.
func (m Machine) makeFolders(path string, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
		return err
	}
	if err := m.makeFolders(dir, mode); err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return m.writeRecord(record{Path: dir, Created: true})
}

// removeFolders removes empty folders above a file that init created.
func (m Machine) removeFolders(path string) error {
	for dir := filepath.Dir(path); filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		known, err := m.readRecord(dir)
		if err != nil || !known.Created || os.Remove(dir) != nil {
			return err
		}
		if err := m.removeRecord(dir); err != nil {
			return err
		}
	}
	return nil
}
