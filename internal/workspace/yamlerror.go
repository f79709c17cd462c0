package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/plan"
)

const (
	hasAnchor = "has an anchor, an alias or a merge key"
	hasTag    = "has a tag or a directive"
	plainly   = "write the settings out plainly"
)

func tooDeep() string { return fmt.Sprintf("is nested more than %d levels deep", maxDepth) }

// asConfigError says what is wrong with data, which source holds.
func asConfigError(source string, data []byte, err error) error {
	if own := (*ConfigError)(nil); errors.As(err, &own) {
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

// notPlainYAML names what census would have refused if the parser had not
// stumbled over it first.
func notPlainYAML(data []byte, err error) string {
	detail := (*yaml.LoadError)(nil)
	if !errors.As(err, &detail) {
		return ""
	}
	switch {
	case detail.Message == tooDeep():
		return detail.Message
	case detail.Stage == yaml.ComposerStage: // all it refuses is an alias without its anchor
		return hasAnchor
	case bytes.HasPrefix(lineAt(data, detail.Mark.Line), []byte("%")):
		return hasTag
	}
	return ""
}

// lineAt returns a line of data by its number, nil when there is none.
func lineAt(data []byte, number int) []byte {
	for line := range bytes.Lines(data) {
		number--
		if number == 0 {
			return line
		}
	}
	return nil
}

// describe takes over what the YAML library says about the problem and the place.
func (e *ConfigError) describe(err error) {
	message := err.Error()
	if detail := (*yaml.LoadError)(nil); errors.As(err, &detail) {
		message = detail.Message + begun(detail)
		if detail.Mark.Line > 0 && e.Line > 0 {
			e.Line = detail.Mark.Line
		}
	}
	message, _, _ = strings.Cut(message, " in type ") // the type is Go's, and nothing to a user
	e.Problem = "cannot be read: " + plan.Shorten(printable(message), 200)
}

// begun says where that began which the parser found no end of.
func begun(detail *yaml.LoadError) string {
	if detail.ContextMark.Line == 0 || detail.ContextMark.Line == detail.Mark.Line {
		return ""
	}
	return fmt.Sprintf(" %s, which begins on line %d", detail.ContextMsg, detail.ContextMark.Line)
}
