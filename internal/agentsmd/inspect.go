package agentsmd

import (
	"errors"
	"fmt"
	"os"
)

// Inspect looks at a file of a workspace, given by its relative path with
// forward slashes, and says how it stands to the canonical text that its block
// should hold. What is wrong with the file is a state; an error means that the
// workspace cannot be opened, or that the canonical text cannot stand in a block
// (ErrCanonical).
func Inspect(workspace, file, canonical string) (Found, error) {
	content, err := contentOf(canonical)
	if err != nil {
		return Found{}, err
	}
	root, err := openWorkspace(workspace)
	if err != nil {
		return Found{}, err
	}
	defer root.Close()
	_, found := inspect(root, file, content)
	return found, nil
}

func inspect(root *os.Root, file, content string) (source, Found) {
	s, err := read(root, file)
	if err != nil {
		return s, refused(s, err)
	}
	d, err := s.document()
	if err != nil {
		return s, refused(s, err)
	}
	found := judge(s, d, content)
	if len(found.Content) > MaxBytes {
		return s, refused(s, tooLarge(file, fmt.Sprintf("with planloop's block it would be larger than %d bytes", MaxBytes)))
	}
	return s, found
}

func refused(s source, err error) Found {
	refusal, ok := errors.AsType[*Error](err)
	if !ok {
		refusal = unreadable(s.file, err)
	}
	return Found{File: s.file, Target: s.target, State: refusal.State, Refusal: refusal}
}

func judge(s source, d document, content string) Found {
	found := Found{File: s.file, Target: s.target, State: Absent}
	if !s.exists() {
		found.Content = []byte(alone(content))
		return found
	}
	found.Before, found.ReadOnly = s.data, s.info.Mode().Perm()&0o222 == 0
	switch b := d.block; {
	case b == nil:
		found.State = NoBlock
	case !b.intact:
		found.State, found.Edits = Edited, b.content
	case b.content != content:
		found.State = Outdated
	default:
		// Line endings that differ from the rest of the file are no reason to write.
		found.State, found.Content = InSync, s.data
		return found
	}
	found.Content = []byte(d.with(content))
	return found
}
