// Package scan reads the tree of a workspace to find what is worth doing in it
// without asking a model: marks in comments, exported code that no test
// mentions, links in documents that lead nowhere. It also sums the tree up for a
// prompt, and quotes documents.
//
// A tree is hostile ground: it may be huge, loop, hold pipes and devices, or lie
// about what is text. Everything goes through os.Root, nothing but regular files
// is opened, and every walk is bounded in files, bytes and time, and says when a
// bound cut it short.
//
// It must not know plans, steps, gates or models: what it finds is plain text,
// and whether a plan has it already is for the caller to judge.
package scan
