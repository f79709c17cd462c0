package toolbox

import (
	"context"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

func (b *Box) viewDirectory(ctx context.Context, rel string, in View) (ViewReply, error) {
	list, more, err := b.files.List(ctx, rel)
	if err != nil {
		return ViewReply{}, refused("/path", rel, err)
	}
	reply := ViewReply{Path: rel, Kind: kindDirectory, Total: len(list)}
	if more {
		reply.Note = "only " + strconv.Itoa(len(list)) + " of its entries were read"
	}
	from, to := max(in.From, 1), len(list)
	if len(list) == 0 {
		return reply, nil
	}
	if from > len(list) {
		return ViewReply{}, invalid("/from", plan.Quote(rel)+" has "+counted(len(list), "entry", "entries"), "give one up to "+strconv.Itoa(len(list)))
	}
	if in.To > 0 {
		to = min(to, in.To)
	}
	var text strings.Builder
	for i := from; i <= min(to, from+b.limits.PageLines-1); i++ {
		line := b.described(rel, list[i-1])
		if text.Len()+len(line)+1 > b.limits.PageBytes && reply.To > 0 {
			break
		}
		if reply.To > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(line)
		reply.From, reply.To = from, i
	}
	reply.Content = text.String()
	if reply.To < len(list) {
		reply.Next = reply.To + 1
	}
	return reply, nil
}

// described is an entry with its size or where it leads.
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
		return name // it is gone
	}
	return name + " (" + size(info.Size()) + ")"
}
