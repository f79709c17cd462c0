package toolbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// View is the input of Box.View.
type View struct {
	Path string `json:"path" jsonschema:"description=file or directory"`
	From int    `json:"from,omitempty" jsonschema:"minimum=1,description=first line"`
	To   int    `json:"to,omitempty" jsonschema:"minimum=1,description=last line"`
}

// ViewReply is a page of a file or a directory.
type ViewReply struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`              // file, directory, binary
	Content string `json:"content,omitempty"` // lines, each after its number and a tab; or entries of a directory
	From    int    `json:"from,omitempty"`
	To      int    `json:"to,omitempty"`
	Total   int    `json:"total,omitempty"` // lines or entries, if known
	Bytes   int64  `json:"bytes,omitempty"` // of the file
	Next    int    `json:"next,omitempty"`  // value of from for the next page
	Note    string `json:"note,omitempty"`  // peculiarities of the file
}

const (
	kindFile      = "file"
	kindDirectory = "directory"
	kindBinary    = "binary"
)

// counting is the largest file, in bytes, in which lines after the page are counted.
const counting = 16 << 20

// View shows a page of a file with line numbers, or of a directory. It keeps only the page in memory, however large the
// file.
func (b *Box) View(ctx context.Context, in View) (ViewReply, error) {
	rel, err := in.check(b)
	if err != nil {
		return ViewReply{}, err
	}
	info, err := b.root.Stat(rel)
	if err != nil {
		return ViewReply{}, refused(rel, err)
	}
	timed, cancel := context.WithTimeout(ctx, b.limits.SearchTime)
	defer cancel()
	if info.IsDir() {
		return b.viewDirectory(timed, rel, in)
	}
	reply, err := b.viewFile(timed, rel, in)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) { // our own time is up, not the caller's
		err = conflict("", "took too long and was stopped", "look for what you need with grep")
	}
	return reply, err
}

func (in View) check(b *Box) (rel string, err error) {
	switch {
	case in.From < 0:
		return "", invalid("/from", "is less than 1", "count lines from 1")
	case in.To < 0:
		return "", invalid("/to", "is less than 1", "count lines from 1")
	case in.To > 0 && in.To < in.From:
		return "", invalid("/to", "is before from", "give a line from "+strconv.Itoa(in.From)+" on")
	}
	return b.place(in.Path)
}

func (b *Box) viewFile(ctx context.Context, rel string, in View) (reply ViewReply, err error) {
	file, info, err := b.openFile(rel)
	if err != nil {
		return ViewReply{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	reply = ViewReply{Path: rel, Kind: kindFile, Bytes: info.Size()}
	p := page{limits: b.limits, lines: newLines(ctx, file, b.limits.LineBytes)}
	beginning, err := p.lines.r.Peek(tree.Sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return ViewReply{}, refused(rel, err)
	}
	if tree.Binary(beginning) {
		reply.Kind, reply.Note = kindBinary, "binary"
		if bytes.HasPrefix(beginning, []byte("\xff\xfe")) || bytes.HasPrefix(beginning, []byte("\xfe\xff")) {
			reply.Note = "text in UTF-16; convert it with a command to read it"
		}
		return reply, nil
	}
	if err := p.fill(max(in.From, 1), in.To); err != nil {
		return ViewReply{}, refused(rel, err)
	}
	err = p.fillReply(&reply)
	return reply, err
}

// Text is the answer for a model.
func (r ViewReply) Text() string {
	if r.Kind == kindBinary {
		return fmt.Sprintf("%s: %s, %s.", safetext.EscapeLine(r.Path), r.Note, size(r.Bytes))
	}
	var b strings.Builder
	b.WriteString(safetext.EscapeLine(r.Path))
	unit := "lines"
	if r.Kind == kindDirectory {
		unit = "entries"
		b.WriteString(when(r.Path != ".", "/"))
	}
	switch {
	case r.To == 0:
		b.WriteString(": empty")
	case r.Total > 0:
		fmt.Fprintf(&b, ": %s %d-%d of %d", unit, r.From, r.To, r.Total)
	default:
		fmt.Fprintf(&b, ": %s %d-%d of %s", unit, r.From, r.To, size(r.Bytes))
	}
	if r.Note != "" {
		b.WriteString(" (" + r.Note + ")")
	}
	b.WriteString("\n" + r.Content)
	if r.Next > 0 {
		fmt.Fprintf(&b, "\nMore: view %s from %d.", plan.Quote(r.Path), r.Next)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (b *Box) viewDirectory(ctx context.Context, rel string, in View) (ViewReply, error) {
	list, more, err := b.files.List(ctx, rel)
	if err != nil {
		return ViewReply{}, refused(rel, err)
	}
	reply := ViewReply{Path: rel, Kind: kindDirectory, Total: len(list)}
	if more {
		reply.Note = "only " + strconv.Itoa(len(list)) + " of its entries were read"
	}
	from, to := max(in.From, 1), min(cmp.Or(in.To, len(list)), len(list))
	if len(list) == 0 {
		return reply, nil
	}
	if from > len(list) {
		return ViewReply{}, invalid("/from", plan.Quote(rel)+" has "+plan.Pluralize(len(list), "entry"),
			"give one up to "+strconv.Itoa(len(list)))
	}
	p := page{limits: b.limits}
	for i := from; i <= min(to, from+b.limits.PageLines-1); i++ {
		if !p.write(b.described(rel, list[i-1]), from, i) {
			break
		}
	}
	reply.Content, reply.From, reply.To = p.text.String(), p.from, p.to
	if reply.To < len(list) {
		reply.Next = reply.To + 1
	}
	return reply, nil
}

// described returns an entry with its size, or its target if it is a link.
func (b *Box) described(dir string, e fs.DirEntry) string {
	name := safetext.EscapeLine(tree.Slashed(e))
	switch {
	case e.IsDir():
		return name
	case e.Type()&fs.ModeSymlink != 0:
		to, err := b.root.Readlink(path.Join(dir, e.Name()))
		if err != nil {
			return name + " -> ?"
		}
		return name + " -> " + safetext.EscapeLine(head(to, plan.MaxPath))
	case !e.Type().IsRegular():
		return name + " (" + kind(e.Type()) + ")"
	}
	info, err := b.root.Lstat(path.Join(dir, e.Name()))
	if err != nil {
		return name // the entry has vanished
	}
	return name + " (" + size(info.Size()) + ")"
}

// page collects the lines to show.
type page struct {
	limits Limits
	lines  *lines

	text     strings.Builder
	from, to int // lines in text; no lines if to is zero
	passed   int // lines read; the last one may not have fitted
	full     bool
	over     bool // the file's end was reached

	cut, crlf, lf int // lines that were shortened, and that ended in each way
	foreign, mark bool
	open          bool
}

// fill reads the lines from through to (0: as many as fit).
func (p *page) fill(from, to int) error {
	for !p.full {
		err := p.lines.next()
		if errors.Is(err, io.EOF) {
			p.over = true
			return nil
		}
		if err != nil {
			return err
		}
		p.passed++
		if p.passed >= from {
			p.take(from)
		}
		p.full = p.full || p.to > 0 && (p.to == to || p.to-from+1 >= p.limits.PageLines)
	}
	return nil
}

// write adds a line with its number, if it fits.
func (p *page) write(line string, from, number int) bool {
	if p.text.Len()+len(line)+1 > p.limits.PageBytes && p.to > 0 {
		return false
	}
	if p.to > 0 {
		p.text.WriteByte('\n')
	}
	p.text.WriteString(line)
	p.from, p.to = from, number
	return true
}

// take adds the line that was read, if it fits.
func (p *page) take(from int) {
	raw := p.lines.text
	if p.passed == 1 && bytes.HasPrefix(raw, []byte(bom)) {
		p.mark = true
		raw = raw[len(bom):]
	}
	if !p.write(strconv.Itoa(p.passed)+"\t"+p.shown(raw), from, p.passed) {
		p.full = true
		return
	}
	if p.lines.left > 0 {
		raw = tree.WholeCharacters(raw)
	}
	p.foreign = p.foreign || !utf8.Valid(raw)
	switch {
	case p.lines.crlf:
		p.crlf++
	case p.lines.open:
		p.open = true
	default:
		p.lf++
	}
}

// shown returns a line for display. If line endings are mixed, it shows the CR of a CR LF after the first LF.
func (p *page) shown(raw []byte) string {
	text := safetext.Escape(string(raw))
	if p.lines.crlf && p.lf > 0 {
		text += `\x0d`
	}
	left := p.lines.left
	if limit := min(p.limits.LineBytes, p.limits.PageBytes-40); len(text) > limit {
		left += len(text) - limit
		text = head(text, limit)
	}
	if left > 0 {
		p.cut++
		text += fmt.Sprintf(" … +%d bytes", left)
	}
	return text
}

// fillReply adds the page to the reply.
func (p *page) fillReply(reply *ViewReply) error {
	reply.Content, reply.From, reply.To = p.text.String(), p.from, p.to
	if p.to == 0 && p.passed > 0 {
		return invalid("/from", plan.Quote(reply.Path)+" has "+plan.Pluralize(p.passed, "line"),
			"give a line up to "+strconv.Itoa(p.passed))
	}
	reply.Note = p.note()
	if !p.over && reply.Bytes > counting {
		if p.lines.read < reply.Bytes || p.passed > p.to {
			reply.Next = p.to + 1
		}
		return nil
	}
	for reply.Total = p.passed; !p.over; {
		switch err := p.lines.next(); {
		case err == nil:
			reply.Total++
		case errors.Is(err, io.EOF):
			p.over = true
		default:
			return err
		}
	}
	if reply.Total > p.to {
		reply.Next = p.to + 1
	}
	return nil
}

func (p *page) note() string {
	return join(
		when(p.foreign, `not UTF-8, other bytes shown as \xNN`),
		when(p.mark, "begins with a byte order mark"),
		when(p.crlf > 0 && p.lf > 0, `line endings are mixed: \x0d marks CR LF after the first LF`),
		when(p.crlf > 0 && p.lf == 0, "lines end with CR LF"),
		when(p.open && p.over, "no newline at the end"),
		when(p.cut > 0, "long lines cut"))
}
