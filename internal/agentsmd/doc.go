// Package agentsmd keeps one marked block in a Markdown file that belongs to the
// user: the rule book for agents in docs/agents.md, AGENTS.md or wherever the
// configuration says. It finds out whether the block on disk is the right one,
// says what the whole file should be, writes it, takes it out again, and tells
// when the file may have changed.
//
// The block stands between two comments on lines of their own:
//
//	<!-- planloop:begin v=1 sha256=HEX -->
//	the text
//	<!-- planloop:end -->
//
// HEX is the hash of the lines in between, each ended by a line feed whatever
// ends it in the file. So a block that is merely old can be told from one that
// somebody has edited. Everything outside the block is kept byte for byte: a
// byte order mark, line endings, a missing last newline.
//
// Comments that stand in a fenced code block are a quotation and do not count,
// but for a whole block whose hash holds: that is ours wherever it stands, for
// instance after a fence that somebody forgot to close.
//
// A file is replaced by a new one of the same mode and, where we may, owner. Hard
// links and extended attributes stay with the former file.
//
// The package must not know what the rule book says, who asks for it, or what a
// plan is. It opens nothing outside the workspace, remembers nothing between two
// calls, and believes the disk alone.
package agentsmd

// MaxBytes is the largest file that is read or written.
const MaxBytes = 1 << 20
