package review

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/plan"
)

// UnsentText is a text that a person typed into a field of the page and did not send.
type UnsentText struct {
	Field string `json:"field" text:"any"`
	Text  string `json:"text" text:"any"` // "": removed
}

const maxUnsent = 256 << 10 // bytes of a file

// unsentFile is the content of a file of unsent texts. They are pruned when none of the plans they were typed for is there any more.
type unsentFile struct {
	Plans []string     `json:"plans,omitempty"` // the first ids of the draft and the current plan at the last change
	Texts []UnsentText `json:"texts"`           // by field
}

// ReadUnsent returns a person's unsent texts, none where they are not stored.
func ReadUnsent(ctx context.Context, workspace *Workspace, person string) ([]UnsentText, error) {
	path := workspace.unsentPath(person)
	if path == "" {
		return []UnsentText{}, nil
	}
	file, err := workspace.unsent(ctx, path)
	return append([]UnsentText{}, file.Texts...), err
}

// KeepUnsent stores the texts of some fields, beside those of a person's other fields. Calls must not overlap.
func KeepUnsent(ctx context.Context, workspace *Workspace, person string, changed []UnsentText) error {
	path := workspace.unsentPath(person)
	if path == "" {
		return plan.Refuse(plan.NotFound, "", "unsent texts are not stored here", "send them, or leave them in the browser")
	}
	file, err := workspace.unsent(ctx, path)
	if err != nil {
		return err
	}
	for _, text := range changed {
		i, has := slices.BinarySearchFunc(file.Texts, text, func(a, b UnsentText) int { return cmp.Compare(a.Field, b.Field) })
		if has {
			file.Texts = slices.Delete(file.Texts, i, i+1)
		}
		if text.Text != "" {
			file.Texts = slices.Insert(file.Texts, i, text)
		}
	}
	if len(file.Texts) == 0 {
		return removeIfThere(path)
	}
	data, err := json.Marshal(file)
	switch {
	case err != nil:
		return err
	case len(data) > maxUnsent:
		return plan.Refuse(plan.InvalidInput, "/texts", "the unsent texts are longer than 256 KB", "send some of them, or shorten them")
	}
	return safefile.WriteFile(path, data, safefile.Options{Mode: safefile.FileMode})
}

// unsentPath returns the file of a person, "" where texts are not stored.
func (workspace *Workspace) unsentPath(person string) string {
	if info, err := os.Stat(workspace.Unsent); workspace.Unsent == "" || err != nil || !info.IsDir() {
		return ""
	}
	name := sha256.Sum256([]byte(person))
	return filepath.Join(workspace.Unsent, "unsent-"+hex.EncodeToString(name[:8])+".json")
}

// unsent reads a file, which it removes if it is about former plans. A damaged file counts as empty.
func (workspace *Workspace) unsent(ctx context.Context, path string) (file unsentFile, err error) {
	state, err := workspace.Service.State(ctx)
	if err != nil {
		return file, err
	}
	data, err := safefile.Read(path, maxUnsent)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	var current []string
	for _, p := range []*plan.Plan{state.Draft, state.Plan} {
		if p != nil && !p.IsCleared() {
			current = append(current, p.Root())
		}
	}
	isCurrent := func(id string) bool { return slices.Contains(current, id) }
	if json.Unmarshal(data, &file) != nil || len(file.Plans) > 0 && !slices.ContainsFunc(file.Plans, isCurrent) {
		file = unsentFile{}
		err = cmp.Or(err, removeIfThere(path))
	}
	file.Plans = current
	return file, err
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
