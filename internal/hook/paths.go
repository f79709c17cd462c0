package hook

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// paths returns the paths at some members of a tool's input. A name such as edits[].path means that member of each element. It returns nil
// if one of them cannot be read.
func (r *reader) paths(input jsontext.Value, at []string) (paths []string) {
	for _, name := range at {
		list, inner, nested := strings.Cut(name, "[].")
		value := r.members(input, list)[list]
		if value == nil {
			continue
		}
		values := []jsontext.Value{value}
		if nested && json.Unmarshal(value, &values) != nil {
			return nil
		}
		for _, one := range values {
			if nested {
				if one.Kind() != jsontext.KindBeginObject {
					return nil
				}
				one = r.members(one, inner)[inner]
			}
			texts := r.texts(one)
			if len(texts) == 0 {
				return nil
			}
			paths = append(paths, texts...)
		}
	}
	return paths
}

// patchPaths returns the files that a patch adds, changes, deletes and moves to. It returns nil if an unreadable line may name a file.
func patchPaths(patch string) (paths []string) {
	for line := range strings.Lines(patch) {
		marker, ok := strings.CutPrefix(strings.TrimSpace(line), "*** ")
		if !ok {
			continue
		}
		kind, path, named := strings.Cut(marker, ": ")
		switch kind {
		case "Add File", "Update File", "Delete File", "Move to":
			if path = strings.TrimSpace(path); !named || path == "" {
				return nil
			}
			paths = append(paths, path)
		case "Begin Patch", "End Patch", "End of File":
		default:
			return nil
		}
	}
	return paths
}

// commandText returns a command as passed to a shell: a text, or a list of words with an unambiguous spelling in a shell. It is "" if the
// list has none.
func commandText(words []string) string {
	switch {
	case len(words) == 1:
		return words[0]
	case len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") && isShell(words[0]):
		return words[2]
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,="
	for _, word := range words {
		if word == "" || strings.Trim(word, plain) != "" {
			return ""
		}
	}
	return strings.Join(words, " ")
}

// isShell reports whether a program is a shell: by its name alone, or in a usual system folder. Elsewhere, as in the workspace, any program
// may have such a name.
func isShell(program string) bool {
	folder, name := path.Split(program)
	return slices.Contains([]string{"bash", "sh", "zsh"}, name) &&
		slices.Contains([]string{"", "/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"}, folder)
}

// PossiblePaths returns all paths that the tool might change, or its possible working directories if it names no path.
func (c Call) PossiblePaths() []string {
	places := c.workDirs()
	for _, given := range c.Paths {
		places = append(places, c.possiblePaths(given)...)
	}
	return places
}

// workDirs returns the possible working directories of a tool: the agent's own, and those named in its input. The agent's own always
// counts, since a host may ignore a member that it does not know.
func (c Call) workDirs() []string {
	bases := []string{c.Dir}
	for _, given := range c.WorkDirs {
		bases = append(bases, c.readPath(c.Dir, given)...)
	}
	slices.Sort(bases)
	return slices.Compact(bases)
}

// possiblePaths returns the possible meanings of a tool's path.
func (c Call) possiblePaths(given string) (places []string) {
	for _, base := range c.workDirs() {
		places = append(places, c.readPath(base, given)...)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// readPath returns the possible meanings of a path relative to a directory. Some hosts expand ~ and URIs; others take them as names in the
// directory, so base represents those and unreadable paths.
func (c Call) readPath(base, given string) []string {
	const file = "file:"
	switch {
	case filepath.IsAbs(given):
		return []string{given}
	case c.Home != "" && (given == "~" || strings.HasPrefix(given, "~/")):
		return []string{base, filepath.Join(c.Home, given[1:])}
	case len(given) > len(file) && strings.EqualFold(given[:len(file)], file):
		return []string{base, pathOfURI(given[len(file):])}
	case strings.HasPrefix(given, "~"), strings.Contains(given, "://"):
		return []string{base}
	}
	return []string{filepath.Join(base, given)}
}

// pathOfURI returns the path in a file URI without its scheme.
func pathOfURI(rest string) string {
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		rest = strings.TrimLeft(host, "/")
		if host == rest { // the URI names a host
			_, rest, _ = strings.Cut(host, "/")
		}
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	return filepath.Clean("/" + rest)
}
