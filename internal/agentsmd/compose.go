package agentsmd

import "strings"

// with returns the whole file with a block of this content. Where one stands it
// is replaced, else one is added.
func (d document) with(content string) string {
	own := rendered(content, d.eol())
	if d.block == nil {
		return d.mark + d.add(own, d.eol())
	}
	return d.mark + d.text[:d.block.start] + own + d.text[d.block.end:]
}

// add puts a block into the text after one blank line. If the last line of the
// text has no ending, then the file's last line has none: so the text that was
// there before can always be told, and a file without a text (it ends in no line
// ending either) from no file.
func (d document) add(own, eol string) string {
	before, after := d.text[:d.gap], d.text[d.gap:]
	switch {
	case d.text == "":
		return own
	case !strings.HasSuffix(before, "\n") && before != "":
		return before + eol + eol + own
	case before != "":
		before += eol
	}
	return before + own + eol + after
}

// alone is the file that holds nothing but the block.
func alone(content string) string { return rendered(content, "\n") + "\n" }

// without returns the file without its block; gone says that there was no file
// before the block was written. It is exactly what was there before if the text
// around the block is still as it was, and else all of that text.
func (d document) without() (text string, gone bool) {
	if d.block == nil {
		return d.mark + d.text, false
	}
	own := d.text[d.block.start:d.block.end]
	eol := "\n"
	if first := strings.IndexByte(own, '\n'); first > 0 && own[first-1] == '\r' {
		eol = "\r\n"
	}
	before, after := d.text[:d.block.start], d.text[d.block.end:]
	rest := strings.TrimPrefix(strings.TrimPrefix(after, "\r"), "\n")
	if before == "" && rest == "" && after != "" && d.mark == "" {
		return "", true
	}
	former := strings.TrimSuffix(before, eol)
	if after == "" {
		former = strings.TrimSuffix(former, eol)
	}
	if former += rest; d.comesFrom(former, own, eol) {
		return d.mark + former, false
	}
	return d.mark + before + rest, false
}

// comesFrom reports whether adding the block to a former text gives this one.
func (d document) comesFrom(former, own, eol string) bool {
	f, wrong := parseText(former)
	return wrong == nil && f.add(own, eol) == d.text
}

// eol returns the line ending that prevails in the user's text, and that of the
// block if there is no other.
func (d document) eol() string {
	outside := d.text
	if d.block != nil {
		outside = d.text[:d.block.start] + d.text[d.block.end:]
	}
	if !strings.Contains(outside, "\n") {
		outside = d.text
	}
	if windows := strings.Count(outside, "\r\n"); 2*windows > strings.Count(outside, "\n") {
		return "\r\n"
	}
	return "\n"
}
