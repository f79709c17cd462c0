package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect classifies a redirection. It allows input from files, here-documents, duplicated descriptors, and output to
// /dev/null.
func (j *classifier) redirect(r *syntax.Redirect) *refusal {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		return refuse("a descriptor that is kept in a variable is not supported; use a number").without(r)
	}
	if r.Word != nil && r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc {
		if refused := j.parts(r.Word.Parts); refused != nil {
			return refused
		}
	}
	return j.combinations([]*syntax.Word{r.Word}, func() *refusal { return j.redirected(r) })
}

// redirected classifies a redirection with a text bound to its word.
func (j *classifier) redirected(r *syntax.Redirect) *refusal {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return j.document(r)
	case syntax.WordHdoc:
		return nil
	case syntax.RdrIn:
		return j.input(r)
	case syntax.DplIn, syntax.DplOut:
		return j.duplicate(r)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
		if j.word(r.Word).is("/dev/null") {
			return nil
		}
		return refuse("%s writes to a file; output may go to /dev/null only", r.Op).without(r)
	}
	return refuse("%s opens a file for writing; use <", r.Op).without(r)
}

// document classifies a here-document. Its end must be certain: bash joins lines before it looks for the delimiter, and
// inside a substitution a line that only begins with the delimiter ends it.
func (j *classifier) document(r *syntax.Redirect) *refusal {
	if r.Hdoc == nil {
		return nil
	}
	delimiter, quoted := j.word(r.Word), isQuoted(r.Word)
	if !delimiter.whole || strings.Trim(delimiter.text, wordLetters) != "" || delimiter.text == "" {
		return refuse("the delimiter of the here-document is not a plain word; use EOF")
	}
	body := j.text(r.Hdoc)
	if !quoted && strings.Contains(body, "\\\n") {
		return refuse("a line of the here-document ends with a backslash, which joins lines; quote the delimiter: <<'%s'", delimiter.text)
	}
	body = strings.TrimSuffix(strings.TrimRight(body, "\n"), delimiter.text)
	for line := range strings.Lines(body) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), delimiter.text) {
			return refuse("a line of the here-document begins like its delimiter; use another delimiter")
		}
	}
	return j.parts(r.Hdoc.Parts)
}

// isQuoted reports whether a here-document with this delimiter is taken as written.
func isQuoted(delimiter *syntax.Word) bool {
	return delimiter.Lit() == "" || strings.Contains(delimiter.Lit(), "\\")
}

// wordLetters are the characters in names of variables and labels.
const wordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// duplicate classifies >&2 and similar. With a word instead of a number these open a file.
func (j *classifier) duplicate(r *syntax.Redirect) *refusal {
	target := j.word(r.Word)
	if target.is("-") || target.whole && strings.Trim(target.text, "0123456789") == "" && target.text != "" {
		return nil // not 2-, which is a file to zsh
	}
	if target.is("/dev/null") && r.N == nil && r.Op == syntax.DplOut {
		return nil
	}
	return refuse("%s needs the number of a descriptor; with a word it opens a file", r.Op).without(r)
}

// input classifies <. The path must be known: bash makes a connection for /dev/tcp/…, and opening a device may act on it.
func (j *classifier) input(r *syntax.Redirect) *refusal {
	if _, ok := onlyPart(r.Word).(*syntax.ProcSubst); ok {
		return nil
	}
	source := j.word(r.Word)
	switch {
	case !source.one():
		return refuse("the input may not be one file; use cat").or("cat FILE")
	case device(source.text):
		return refuse("reading from a device may act on it, and /dev/tcp is a connection").without(r)
	case !source.openable():
		return refuse("the input is not known and may be a connection in /dev/tcp; use cat").or("cat FILE")
	}
	return nil
}

// device reports whether a path names a device other than those that only give or take bytes.
func device(name string) bool {
	rest, ok := strings.CutPrefix(path.Clean(name), "/dev/")
	streams := []string{"null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr"}
	return ok && !slices.Contains(streams, rest) && !strings.HasPrefix(rest, "fd/")
}
