package toolbox

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/plan"
)

// maxNames is how many entries of one directory are read.
const maxNames = 50_000

// entries reads a directory in the order of the paths in it: a directory stands
// where its content would. It reports whether there are more than maxNames.
func (b *Box) entries(ctx context.Context, dir string) (list []fs.DirEntry, more bool, err error) {
	file, err := b.root.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for len(list) < maxNames {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		batch, err := file.ReadDir(min(1_000, maxNames-len(list)))
		list = append(list, batch...)
		if errors.Is(err, io.EOF) {
			return sorted(list), false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return sorted(list), true, nil
}

func sorted(list []fs.DirEntry) []fs.DirEntry {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(slashed(a), slashed(b)) })
	return list
}

// slashed is the name of an entry, with a slash behind that of a directory.
func slashed(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

func (b *Box) viewDirectory(ctx context.Context, rel string, in View) (ViewReply, error) {
	list, more, err := b.entries(ctx, rel)
	if err != nil {
		return ViewReply{}, refused("/path", rel, err)
	}
	reply := ViewReply{Path: rel, Kind: kindDirectory, Total: len(list)}
	if more {
		reply.Note = "only " + strconv.Itoa(maxNames) + " of its entries were read"
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
	name := oneLine(slashed(e))
	switch {
	case e.IsDir():
		return name
	case e.Type()&fs.ModeSymlink != 0:
		to, err := b.root.Readlink(path.Join(dir, e.Name()))
		if err != nil {
			return name + " -> ?"
		}
		return name + " -> " + oneLine(head(to, plan.MaxPath))
	case !e.Type().IsRegular():
		return name + " (" + kind(e.Type()) + ")"
	}
	info, err := b.root.Lstat(path.Join(dir, e.Name()))
	if err != nil {
		return name // it is gone
	}
	return name + " (" + size(info.Size()) + ")"
}
