package prompts

import "slices"

// Document is a file, or an excerpt of one, that a text quotes.
type Document struct {
	Path string
	Text string
}

// material is a section of quoted blocks.
type material struct {
	Title  string
	Lead   string // how to read the blocks
	Blocks []*block
	Note   string // what is not shown of the whole
}

// section makes a section of the blocks that hold anything.
func section(title, lead string, blocks ...*block) material {
	blocks = slices.DeleteFunc(blocks, func(b *block) bool { return b == nil })
	return material{Title: title, Lead: lead, Blocks: blocks}
}

// documents makes a section of files.
func documents(title, lead string, files []Document, limit int) material {
	blocks, note := quoteDocuments(files, limit)
	m := section(title, lead, blocks...)
	m.Note = note
	return m
}

// present returns the sections that hold anything, in order.
func present(sections ...material) []material {
	return slices.DeleteFunc(sections, func(m material) bool { return len(m.Blocks) == 0 })
}
