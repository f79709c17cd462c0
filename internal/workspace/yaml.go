package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Bounds of one document: far beyond what a configuration needs, and little
// enough that whatever 64 KB hold is read in a moment.
const (
	maxFileBytes = 64 << 10
	maxValues    = 4_000
	maxDepth     = 32
)

// parseYAML returns the one document of data, nil when it is empty.
func parseYAML(source string, data []byte) (*yaml.Node, error) {
	if len(data) > maxFileBytes {
		return nil, &ConfigError{Source: source, Problem: fmt.Sprintf("is larger than %d KB", maxFileBytes>>10), Want: "shorten it"}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if line := firstOdd(data); line > 0 {
		return nil, &ConfigError{Source: source, Line: line,
			Problem: "has a control character, a Unicode line break or is not UTF-8", Want: "remove it"}
	}
	var node *yaml.Node
	err := guarded(func() (err error) {
		node, err = onlyDocument(data)
		return err
	})
	if err != nil {
		return nil, asConfigError(source, data, err)
	}
	return node, nil
}

// guarded turns a panic of the YAML library, which reads what a stranger may
// have written, into an error.
func guarded(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML cannot be understood (%v)", r)
		}
	}()
	return call()
}

// firstOdd returns the line of the first byte that is not text, 0 when all is.
func firstOdd(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 || odd(r) {
			return line
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return 0
}

// odd reports whether a character has no place in a configuration. The parser
// begins a new line at Unicode's line breaks, where an editor shows none: what
// looks like a comment would be a setting.
func odd(r rune) bool {
	switch r {
	case '\n', '\r', '\t':
		return false
	case '\u2028', '\u2029', '\ufffe', '\uffff':
		return true
	}
	return unicode.IsControl(r)
}

// onlyDocument returns the body of the one document that has any, nil when none has.
func onlyDocument(data []byte) (*yaml.Node, error) {
	in, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithStreamNodes(),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(shallow))))
	if err != nil {
		return nil, err
	}
	var only *yaml.Node
	var seen census
	for {
		var next yaml.Node // a document, or the directives before one
		err := in.Load(&next)
		if errors.Is(err, io.EOF) {
			return only, nil
		}
		if err != nil {
			return nil, err
		}
		if err := seen.take(&next, 0); err != nil {
			return nil, err
		}
		body := bodyOf(&next)
		if body != nil && only != nil {
			return nil, &ConfigError{Line: body.Line, Problem: "has a second document", Want: "keep one"}
		}
		if body != nil {
			only = body
		}
	}
}

// shallow stops the parser as soon as the text is nested too deeply.
func shallow(depth int, _ *yaml.DepthContext) error {
	if depth > maxDepth {
		return errors.New(tooDeep())
	}
	return nil
}

// bodyOf returns what a document holds, nil when that is nothing.
func bodyOf(document *yaml.Node) *yaml.Node {
	if document.Kind != yaml.DocumentNode || len(document.Content) == 0 {
		return nil
	}
	body := document.Content[0]
	if isNull(body) && body.Value == "" {
		return nil
	}
	return body
}
