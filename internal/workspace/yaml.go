package workspace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Bounds of one document: far beyond the needs of a configuration, and small enough that any 64 KB are read quickly.
const (
	maxFileBytes = 64 << 10
	maxValues    = 4_000
	maxDepth     = 32
)

// parseYAML returns the single document of data, nil if it is empty.
func parseYAML(source string, data []byte) (*yaml.Node, *ConfigError) {
	if len(data) > maxFileBytes {
		return nil, &ConfigError{Source: source, Problem: fmt.Sprintf("is larger than %d KB", maxFileBytes>>10), Want: "shorten it"}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if line := firstForbidden(data); line > 0 {
		return nil, &ConfigError{Source: source, Line: line,
			Problem: "has a control character, a Unicode line break or is not UTF-8", Want: "remove it"}
	}
	var node *yaml.Node
	err := recoverPanic(func() (err error) {
		node, err = onlyDocument(data)
		return err
	})
	if err != nil {
		return nil, asConfigError(source, data, err)
	}
	return node, nil
}

// recoverPanic turns a panic of the YAML library, which reads untrusted text, into an error.
func recoverPanic(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML cannot be understood (%v)", r)
		}
	}()
	return call()
}

// firstForbidden returns the line of the first byte that is not text, or 0.
func firstForbidden(data []byte) int {
	// The parser begins a new line at Unicode's line breaks, which editors do not show: an apparent comment would be a
	// setting.
	isForbidden := func(r rune) bool {
		return strings.ContainsRune("\u2028\u2029\ufffe\uffff", r) || unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r)
	}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if !utf8.Valid(text) || bytes.ContainsFunc(text, isForbidden) {
			return line
		}
	}
	return 0
}

// onlyDocument returns the body of the only non-empty document, nil if all are empty.
func onlyDocument(data []byte) (*yaml.Node, error) {
	checkDepth := func(depth int, _ *yaml.DepthContext) error { // stops the parser as soon as it can
		if depth > maxDepth {
			return errors.New(tooDeep())
		}
		return nil
	}
	in, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithStreamNodes(),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(checkDepth))))
	if err != nil {
		return nil, err
	}
	var only *yaml.Node
	var seen yamlChecker
	for {
		var next yaml.Node // a document, or the directives before it
		err := in.Load(&next)
		if errors.Is(err, io.EOF) {
			return only, nil
		}
		if err != nil {
			return nil, err
		}
		if err := seen.check(&next, 0); err != nil {
			return nil, err
		}
		if next.Kind != yaml.DocumentNode || len(next.Content) == 0 {
			continue
		}
		body := next.Content[0]
		switch isEmpty := isNull(body) && body.Value == ""; {
		case !isEmpty && only != nil:
			return nil, refusal(body, "has a second document", "keep one")
		case !isEmpty:
			only = body
		}
	}
}

const (
	hasAnchor = "has an anchor, an alias or a merge key"
	hasTag    = "has a tag or a directive"
	plainly   = "write the settings out plainly"
)

func tooDeep() string { return fmt.Sprintf("is nested more than %d levels deep", maxDepth) }

// asConfigError describes a fault in data, the text of source.
func asConfigError(source string, data []byte, err error) *ConfigError {
	if own, ok := errors.AsType[*ConfigError](err); ok {
		own.Source = source
		return own
	}
	refusal := &ConfigError{Source: source, Line: 1, Err: err, Want: "correct the YAML"}
	refusal.describe(err)
	if problem := notPlainYAML(data, err); problem != "" {
		refusal.Problem, refusal.Want = problem, plainly
	}
	return refusal
}

// notPlainYAML names a construct that yamlChecker would have refused, had the parser not failed first.
func notPlainYAML(data []byte, err error) string {
	detail, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return ""
	}
	lines, at := bytes.Split(data, []byte("\n")), detail.Mark.Line
	switch {
	case detail.Message == tooDeep():
		return detail.Message
	case detail.Stage == yaml.ComposerStage: // all it refuses is an alias without its anchor
		return hasAnchor
	case at > 0 && at <= len(lines) && bytes.HasPrefix(lines[at-1], []byte("%")):
		return hasTag
	}
	return ""
}

// describe takes over the YAML library's problem and place.
func (e *ConfigError) describe(err error) {
	message := err.Error()
	if detail, ok := errors.AsType[*yaml.LoadError](err); ok {
		message = detail.Message
		if begin := detail.ContextMark.Line; begin > 0 && begin != detail.Mark.Line { // of an unfinished construct
			message += fmt.Sprintf(" %s, which begins on line %d", detail.ContextMsg, begin)
		}
		if detail.Mark.Line > 0 && e.Line > 0 {
			e.Line = detail.Mark.Line
		}
	}
	e.Problem = "cannot be read: " + plan.Shorten(safetext.EscapeLine(message), 200)
}

// yamlChecker walks the values of a text and refuses constructs that a configuration does not need and that cause trouble:
// anchors and aliases (a few of them can expand to gigabytes), merge keys, tags, directives, keys that are not words or
// are repeated, deep nesting, endless lists.
type yamlChecker struct{ values int }

// check counts n, which is depth levels below its document, and its descendants.
func (c *yamlChecker) check(n *yaml.Node, depth int) error {
	c.values++
	switch {
	case c.values > maxValues:
		return refusal(n, fmt.Sprintf("has more than %d values", maxValues), "shorten it")
	case depth > maxDepth:
		return refusal(n, tooDeep(), plainly)
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return refusal(n, hasAnchor, plainly)
	case isTagged(n) || n.Stream != nil && (n.Stream.Version != nil || len(n.Stream.TagDirectives) > 0):
		return refusal(n, hasTag, plainly)
	}
	if n.Kind == yaml.MappingNode {
		if err := checkKeys(n); err != nil {
			return err
		}
	}
	for _, below := range n.Content {
		if err := c.check(below, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func refusal(n *yaml.Node, problem, want string) error {
	return &ConfigError{Line: n.Line, Problem: problem, Want: want}
}

// isTagged reports whether a value was written with a tag; a lone exclamation mark is one.
func isTagged(n *yaml.Node) bool { return n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" }

// checkKeys refuses a mapping with a key that is not a word or is repeated.
func checkKeys(mapping *yaml.Node) error {
	lines := map[string]int{}
	for pair := range slices.Chunk(mapping.Content, 2) {
		key := pair[0]
		if key.ShortTag() == "!!merge" {
			return refusal(key, hasAnchor, plainly)
		}
		if isTagged(key) || key.Anchor != "" || key.Kind == yaml.AliasNode {
			continue // take reports it
		}
		name, ok := scalarText(key)
		if !ok {
			return refusal(key, "has a key that is not one word", "write key: value lines")
		}
		if before, twice := lines[name]; twice {
			return refusal(key, fmt.Sprintf("has the key %s, which is already defined on line %d", plan.Quote(name), before),
				"keep one of them")
		}
		lines[name] = key.Line
	}
	return nil
}

// scalarText returns a scalar as it was written, without quotes.
func scalarText(node *yaml.Node) (string, bool) {
	if isNull(node) || node.Kind != yaml.ScalarNode {
		return "", false
	}
	if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return strings.TrimSpace(node.Value), true
	}
	return node.Value, true
}

func isNull(node *yaml.Node) bool { return node == nil || node.ShortTag() == "!!null" }

// Section is a part of the configuration that its user decodes. The zero value is a missing section.
type Section struct{ value value }

// Given reports whether the configuration has the section.
func (s Section) Given() bool { return s.value.node != nil }

// Decode fills the struct that into points to, by its yaml tags, and refuses unknown fields. A missing section leaves
// it unchanged. The error is a *ConfigError without any value, which might be a secret.
func (s Section) Decode(into any) error {
	v := s.value
	if v.node == nil {
		return nil
	}
	err := recoverPanic(func() error { return v.node.Load(into, yaml.WithKnownFields()) })
	if err == nil {
		return nil
	}
	if wrong := v.misfit(reflect.TypeOf(into).Elem()); wrong != nil {
		return v.locate(wrong[0], err)
	}
	refusal := &ConfigError{Want: "correct it"}
	refusal.describe(err)
	return v.locate(refusal, err)
}

// Entries returns the parts of a section that is a mapping, by name, so that one faulty part does not affect the
// others. The error is a *ConfigError.
func (s Section) Entries() (map[string]Section, error) {
	v := s.value
	if v.node == nil || isNull(v.node) {
		return nil, nil
	}
	entries, ok := v.entries()
	if !ok {
		return nil, v.locate(v.noMapping()[0], nil)
	}
	all := map[string]Section{}
	for _, entry := range entries {
		all[entry.entry] = Section{v.entryValue(entry)}
	}
	return all, nil
}

// locate completes an error about the section or a part of it. Only a file has lines.
func (v value) locate(wrong *ConfigError, cause error) *ConfigError {
	wrong.Source, wrong.Err = v.source, cause
	if wrong.Key == "" {
		wrong.Key = v.key
	}
	if wrong.Line == 0 || v.line == 0 {
		wrong.Line = v.line
	}
	return wrong
}

// entryValue returns a part of a mapping, with its full path as key.
func (v value) entryValue(entry value) value {
	entry.key = v.key + "." + plan.Shorten(safetext.EscapeLine(entry.entry), 60)
	if v.line == 0 {
		entry.line = 0
	}
	return entry
}

// misfit describes the part of a value that does not fit a Go type in terms of the configuration; nil if it finds none.
func (v value) misfit(t reflect.Type) faults {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case isNull(v.node):
		return nil
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return v.misfitBelow(t)
	case t.Kind() == reflect.Slice:
		elements, ok := v.elements()
		if !ok {
			name := v.key[strings.LastIndexByte(v.key, '.')+1:]
			return v.refuse("is not a list", "write a list, such as "+name+": [one, two]")
		}
		for i, element := range elements {
			element.key += "[" + strconv.Itoa(i) + "]"
			if wrong := element.misfit(t.Elem()); wrong != nil {
				return wrong
			}
		}
		return nil
	}
	if recoverPanic(func() error { return v.node.Load(reflect.New(t).Interface()) }) == nil {
		return nil
	}
	if t == reflect.TypeFor[time.Duration]() {
		return v.refuse("is not a time", "write a number with its unit, such as 30s, 10m or 1h")
	}
	switch t.Kind() {
	case reflect.Bool:
		return v.refuse("is neither true nor false", "write one of them")
	case reflect.Int:
		return v.refuse("is not a whole number", "write one, such as 3")
	case reflect.Float64:
		return v.refuse("is not a number", "write one, such as 0.5")
	}
	return v.refuse("is not one text", "write a text, in quotes if it has a colon or a brace")
}

// misfitBelow is misfit for a mapping.
func (v value) misfitBelow(t reflect.Type) faults {
	entries, ok := v.entries()
	if !ok {
		return v.noMapping()
	}
	fields := map[string]reflect.Type{} // by their YAML names
	if t.Kind() == reflect.Struct {
		for field := range t.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			fields[cmp.Or(name, strings.ToLower(field.Name))] = field.Type
		}
		delete(fields, "-")
	}
	for _, entry := range entries {
		entry = v.entryValue(entry)
		of, known := fields[entry.entry]
		if t.Kind() == reflect.Map {
			of, known = t.Elem(), true
		}
		if !known {
			names := slices.Sorted(maps.Keys(fields))
			return entry.refuse("is unknown", didYouMean(entry.entry, names)+"the keys here are "+strings.Join(names, ", "))
		}
		if wrong := entry.misfit(of); wrong != nil {
			return wrong
		}
	}
	return nil
}

func (v value) noMapping() faults {
	return v.refuse("is not a mapping", "write key: value lines below it")
}
