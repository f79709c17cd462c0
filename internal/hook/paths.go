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

// paths are what stands at some members of a tool's input. A name such as edits[].path means the
// member of each element. There are none where one of them cannot be read.
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

// patchPaths are the files that a patch adds, changes, deletes and moves to. There are none where a
// line might name one and cannot be read.
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

// shellText is a command as a shell gets it: a text, or the list of words that are started, where it is
// plain what a shell would make of them. It is "" where that is not.
func shellText(words []string) string {
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

// isShell reports whether a program is a shell: by its name, or where systems have theirs. Elsewhere, as in the
// workspace, anything may go by such a name.
func isShell(program string) bool {
	folder, name := path.Split(program)
	return slices.Contains([]string{"bash", "sh", "zsh"}, name) &&
		slices.Contains([]string{"", "/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"}, folder)
}

// Places are all the paths that the tool might change, or work in where it names none.
func (c Call) Places() []string {
	places := c.bases()
	for _, told := range c.Paths {
		places = append(places, c.places(told)...)
	}
	return places
}

// bases are the directories that a tool may work in: the agent's, and those that its input names. The agent's stays
// among them, since a host may pass over a member that it does not know.
func (c Call) bases() []string {
	bases := []string{c.Dir}
	for _, told := range c.WorksIn {
		bases = append(bases, c.readings(c.Dir, told)...)
	}
	slices.Sort(bases)
	return slices.Compact(bases)
}

// places are the paths that a tool's path may mean.
func (c Call) places(told string) (places []string) {
	for _, base := range c.bases() {
		places = append(places, c.readings(base, told)...)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// readings are what a path may mean from a directory. Some hosts read ~ and URIs, and others take them for names in
// the directory, which stands for those and for what cannot be read.
func (c Call) readings(base, told string) []string {
	const file = "file:"
	switch {
	case filepath.IsAbs(told):
		return []string{told}
	case c.Home != "" && (told == "~" || strings.HasPrefix(told, "~/")):
		return []string{base, filepath.Join(c.Home, told[1:])}
	case len(told) > len(file) && strings.EqualFold(told[:len(file)], file):
		return []string{base, pathOfURI(told[len(file):])}
	case strings.HasPrefix(told, "~"), strings.Contains(told, "://"):
		return []string{base}
	}
	return []string{filepath.Join(base, told)}
}

// pathOfURI is the path of a URI of a file, without the scheme.
func pathOfURI(rest string) string {
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		rest = strings.TrimLeft(host, "/")
		if host == rest { // a host is named
			_, rest, _ = strings.Cut(host, "/")
		}
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	return filepath.Clean("/" + rest)
}
