package agentsmd

import (
	"strings"
)

// listMarkers are what may stand before a fence that opens in a list.
var listMarkers = pattern(`^(?:[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$))*[ \t]*`)

// fence is the line of backticks or tildes that opened a code block; the zero
// value is none.
//
// How far a fence is indented does not matter here: what would be too far by the
// letter of Markdown is usually a fence in a list, and its end is as far.
type fence struct {
	char   byte
	length int
}

func (f fence) open() bool { return f.length > 0 }

// opens returns the fence that a line opens.
func opens(line string) fence {
	if !strings.Contains(line, "```") && !strings.Contains(line, "~~~") {
		return fence{}
	}
	line = line[len(listMarkers().FindString(line)):]
	if line == "" || line[0] != '`' && line[0] != '~' {
		return fence{}
	}
	info := strings.TrimLeft(line, line[:1])
	f := fence{char: line[0], length: len(line) - len(info)}
	if f.length < 3 || f.char == '`' && strings.Contains(info, "`") {
		return fence{} // three backticks may also begin code within a line
	}
	return f
}

// closedBy reports whether a line closes the code block.
func (f fence) closedBy(line string) bool {
	line = strings.Trim(line, " \t\r")
	return len(line) >= f.length && strings.Trim(line, string(rune(f.char))) == ""
}
