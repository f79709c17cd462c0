package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/atomicfile"
)

// Workspace is a directory an agent works in, and the folder of its state.
type Workspace struct {
	Path     string // absolute, cleaned, symlink-free
	Name     string // for people: the directory's name, or default
	StateDir string // where its log is kept; may not exist yet
	Default  bool   // the workspace named default: Path is only where it was started
	Notice   string // what the user should know about the choice; "" when nothing
}

const defaultName = "default"

func newWorkspace(path, stateHome string) Workspace {
	name := printable(filepath.Base(path))
	return Workspace{Path: path, Name: name, StateDir: filepath.Join(stateHome, stateName(path))}
}

func defaultWorkspace(path, stateHome string) Workspace {
	return Workspace{
		Path: path, Name: defaultName, Default: true,
		StateDir: filepath.Join(stateHome, defaultName),
		Notice: fmt.Sprintf("started in %s, which is no project: using the workspace named %s; "+
			"start in a project, or name one with --workspace DIR or %s", printable(path), defaultName, envWorkspace),
	}
}

const (
	slugLength = 24
	hashLength = 16 // hexadecimal digits, 64 bits
)

// stateName is a readable slug of the directory's name and a hash of its path.
func stateName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return slug(filepath.Base(path), slugLength, "workspace") + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// slug returns text in lower-case ASCII letters, digits and single dashes, at
// most n of them, or instead when nothing is left.
func slug(text string, n int, instead string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if b.Len() == n {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if cut := strings.TrimRight(b.String(), "-"); cut != "" {
		return cut
	}
	return instead
}

// printable replaces what must not reach a terminal: control characters,
// invisible and text-reordering ones, bytes that are no text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, text)
}

// MarkerFile is the name of the file that says which directory a state belongs to.
const MarkerFile = "workspace.json"

// Description is what the marker file holds.
type Description struct {
	Path string `json:"path"`
}

// Describe returns what a person needs to tell state folders apart.
func (w Workspace) Describe() Description { return Description{Path: w.Path} }

// WriteMarker writes the description into dir, which must exist, so that a
// person can tell the folders under the state home apart. It is whole or not
// there, readable by the user alone, and left as it is when it says the same.
func (w Workspace) WriteMarker(dir string) error {
	// A path is bytes; what is no UTF-8 in it is shown replaced.
	text, err := json.Marshal(w.Describe(), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("describe the workspace: %w", err)
	}
	text = append(text, '\n')
	path := filepath.Join(dir, MarkerFile)
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
		return nil
	}
	if err := atomicfile.WriteFile(path, text, atomicfile.Options{Mode: 0o600}); err != nil {
		return fmt.Errorf("write the workspace's marker: %w", err)
	}
	return nil
}
